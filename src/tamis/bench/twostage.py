"""What the papers of the two-stage engines measured, both stages timed apart: TOPSS, section 5.1; Fabret et al., section 6.2.

    predicates   stage one alone: predicate tables against lists and sorted rows, by size of the domain and number of predicates
    counting     stage two by posting lists, bit matrix and byte matrix
    clustered    propagation without and with prefetch, static, dynamic, as subscriptions grow

    python -m tamis.bench.twostage clustered --profile full

Engines of one size are held at the same time and measured in turns, round after round, so that what else the machine does
falls on all of them; a row has the median and the quartiles of processor time. All engines of a size must find the same.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tamis.bench.results import machine
from tamis.encoding.bulk_events import encode_wide
from tamis.encoding.bulk_subscriptions import encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.registry import build_engine
from tamis.engines.twostage import TwoStage
from tamis.workloads.fabret import Fabret

ROUNDS = 9
INDEXES = {name: ("counting", {"index": name}) for name in ("table", "list", "sorted")}
ASSOCIATIONS = {
    name: ("counting", {"association": name, "max_bytes": 1 << 31}) for name in ("lists", "bitmatrix", "matrix")
}
CLUSTERED: dict[str, tuple[str, dict[str, Any]]] = {
    "propagation": ("propagation", {"prefetch": False}),
    "propagation+prefetch": ("propagation", {"prefetch": True}),
    "static": ("static", {}),
    "dynamic": ("dynamic", {}),
}
COUNTING = {"counting": ("counting", {"index": "sorted"})}
SIZES = {"quick": (10_000, 100_000), "full": (100_000, 300_000, 1_000_000)}


def run(experiments: list[str], profile: str) -> Iterator[dict[str, Any]]:
    """The rows of the experiments named (of all, if none is), one for each engine and size; `profile` is quick or full."""
    for name in experiments or list(EXPERIMENTS):
        for row in EXPERIMENTS[name](profile):
            yield {"experiment": name, **row}


def predicates(profile: str) -> Iterator[dict[str, Any]]:
    """Stage one by domain size: an equality and an inequality on each of ten attributes' values, as many as there are."""
    for domain in (40, 1_000, 10_000):
        workload = Fabret(attributes=10, domain=domain, predicates=2, fixed=0, focus=(0, 10), inequalities=1)
        for count in SIZES[profile]:
            world = encoded(workload, count // 10, 200)
            for row in compared(INDEXES, *world, lambda engine, events: engine.first_stage(events)):
                yield {"domain": domain, **row}


def counting(profile: str) -> Iterator[dict[str, Any]]:
    """Stage two by association, over the 400 predicates that the memory of the paper's bit matrix implies, and over ten
    times as many at the smallest size: a byte matrix for the others would take gigabytes."""
    sizes = SIZES[profile]
    for domain, counts in ((40, sizes), (400, sizes[:1])):
        workload = Fabret(attributes=10, domain=domain, fixed=0, focus=(0, 10))
        for count in counts:
            for row in compared(ASSOCIATIONS, *encoded(workload, count, 100)):
                yield {"domain": domain, **row}


def clustered(profile: str) -> Iterator[dict[str, Any]]:
    """The engines with clusters; counting for comparison."""
    for count in SIZES[profile]:
        yield from compared(CLUSTERED | COUNTING, *encoded(Fabret(), count, 500))


EXPERIMENTS: dict[str, Callable[[str], Iterator[dict[str, Any]]]] = {
    "predicates": predicates,
    "counting": counting,
    "clustered": clustered,
}


def encoded(workload: Fabret, count: int, events: int) -> tuple[SubscriptionTable, EventBatch]:
    """A workload as a table and a batch over one dictionary."""
    dictionary = Dictionary()
    table = encode_predicates(workload.subscriptions(count, seed=0), dictionary)
    return table, encode_wide(workload.events(events, seed=1), dictionary).strict()


def both_stages(engine: TwoStage, events: EventBatch) -> int:
    """The number of matches."""
    return len(engine.match(events).ids)


def compared(
    engines: dict[str, tuple[str, dict[str, Any]]],
    table: SubscriptionTable,
    events: EventBatch,
    work: Callable[[TwoStage, EventBatch], int] = both_stages,
) -> Iterator[dict[str, Any]]:
    """A row for each engine, by label; microseconds per event of everything and of stage one alone."""
    built: dict[str, TwoStage] = {}
    loading: dict[str, float] = {}
    first: dict[str, list[float]] = {}
    whole: dict[str, list[float]] = {}
    for label, (name, options) in engines.items():
        warm = two_stage(name, table.take(np.arange(min(100, len(table)))), options)
        warm.match(events.slice(0, 1))
        warm.first_stage(events.slice(0, 1))
        began = time.process_time()
        built[label] = two_stage(name, table, options)
        loading[label] = time.process_time() - began
    answers = {label: work(engine, events) for label, engine in built.items()}
    if len(set(answers.values())) != 1:
        raise AssertionError(f"the engines disagree: {answers}")
    for label, engine in built.items():
        before = engine.candidates
        engine.match(events)
        first[label], whole[label] = [], [float(engine.candidates - before)]
    checked = {label: spent.pop() / len(events) for label, spent in whole.items()}
    for _ in range(ROUNDS):
        for label, engine in built.items():
            first[label].append(seconds(lambda e=engine: e.first_stage(events)) * 1e6 / len(events))  # type: ignore[misc]
            whole[label].append(seconds(lambda e=engine: work(e, events)) * 1e6 / len(events))  # type: ignore[misc]
    for label, engine in built.items():
        low, middle, high = statistics.quantiles(whole[label], n=4)
        stage_one = statistics.median(first[label])
        yield {
            "engine": label,
            "subscriptions": len(table),
            "predicates": len(engine.stage.registry),
            "event_us": middle,
            "event_us_quartiles": [low, high],
            "event_us_rounds": whole[label],
            "stage_one_us": stage_one,
            "stage_two_us": max(0.0, middle - stage_one),
            "checked_per_event": checked[label],
            "result": answers[label],
            "load_seconds": loading[label],
            "bytes": engine.stats().bytes_held,
        }


def two_stage(name: str, table: SubscriptionTable, options: dict[str, Any]) -> TwoStage:
    """An engine of these two papers."""
    engine = build_engine(name, table, options)
    assert isinstance(engine, TwoStage)
    return engine


def seconds(work: Callable[[], int]) -> float:
    """Processor time of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def shown(row: dict[str, Any]) -> str:
    """A row for the eye."""
    label = f"{row['experiment']:11}{row['engine']:22}{row['subscriptions']:>9,}"
    label += f" domain {row['domain']:>6}" if "domain" in row else ""
    low, high = row["event_us_quartiles"]
    label += f" {row['predicates']:>7,} predicates"
    stages = f"stage 1 {row['stage_one_us']:8.2f}  stage 2 {row['stage_two_us']:9.2f}"
    sizes = f"load {row['load_seconds']:6.2f} s  {row['bytes'] / 1e6:8.1f} MB  checked {row['checked_per_event']:.0f}"
    return f"{label}  {row['event_us']:9.2f} µs [{low:.2f}, {high:.2f}]  {stages}  {sizes}"


def main() -> None:
    """Run experiments; rows on the screen, raw results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", choices=[*EXPERIMENTS, []])
    parser.add_argument("--profile", choices=list(SIZES), default="quick")
    parser.add_argument("--out", type=Path, default=Path("twostage.json"))
    given = parser.parse_args()
    rows = []
    for row in run(given.experiments, given.profile):
        rows.append(row)
        print(shown(row), flush=True)  # noqa: T201
    given.out.write_text(json.dumps({"profile": given.profile, "machine": machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
