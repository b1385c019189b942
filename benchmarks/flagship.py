"""Figures of the engine `tamis`, printed as lines. See docs/engines/tamis.md.

    python benchmarks/flagship.py compare uniform-1m --engine static    beside the baseline and other engines
    python benchmarks/flagship.py scale 100000 1000000 10000000         100 matches per event at any size
    python benchmarks/flagship.py threads uniform-1m                    one thread and two (needs two free cores)
    python benchmarks/flagship.py churn --seconds 10                    inserts and removals while another thread matches
    python benchmarks/flagship.py matcher                               one Python dict after the other, ids returned
    python benchmarks/flagship.py disk uniform-1m                       saving and opening

Times are CPU time of the calling thread, compilation excluded: the median and the least of some rounds in which everything
that is compared takes its turn. `threads` and `churn` go by the clock.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from tamis import Matcher
from tamis.bench.baseline import Baseline
from tamis.bench.prepare import encode_reference
from tamis.encoding.events import EventBatch
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Engine
from tamis.engines.registry import build_engine
from tamis.engines.scan import ScanEngine
from tamis.engines.tamis import TamisEngine, TamisOptions
from tamis.workloads.reference import WORKLOADS, Numeric, draw, generate

ROUNDS, CHECKED, MILLION = 9, 5, 1_000_000


def sized(subscriptions: int, matches: int = 100) -> tuple[SubscriptionTable, EventBatch]:
    """Any number of subscriptions of which an event matches about as many as wanted.

    They are drawn by the million, and events are about the themes of the first million: the others are only in the way.
    """
    count = min(MILLION, subscriptions)
    table, events = encode_reference(draw(Numeric(count, match=matches / count)))
    parts = [table]
    for start in range(count, subscriptions, MILLION):
        count = min(MILLION, subscriptions - start)
        more, _ = encode_reference(draw(Numeric(count, match=matches / count, seed=start // MILLION + 1)))
        parts.append(replace(more, owners=more.owners + np.int32(start), dictionary=table.dictionary))
    return SubscriptionTable.concat(parts) if len(parts) > 1 else table, events


def cpu(call: Callable[[], object]) -> float:
    """Seconds of CPU."""
    started = time.thread_time()
    call()
    return time.thread_time() - started


def told(label: str, **figures: object) -> None:
    """One line."""
    shown = "  ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items())
    print(f"{label:34} {shown}", flush=True)  # noqa: T201


def built(name: str, table: SubscriptionTable, events: EventBatch) -> tuple[Engine, float]:
    """An engine, checked against scan, and the seconds it took to build."""
    few = table.take(np.arange(min(100, len(table))))
    build_engine(name, few).match(events.slice(0, 2))
    started = time.thread_time()
    engine = build_engine(name, table)
    seconds = time.thread_time() - started
    if not engine.match(events.slice(0, CHECKED)).equals(ScanEngine(table).match(events.slice(0, CHECKED))):
        raise SystemExit(f"{name} disagrees with scan")
    return engine, seconds


def compare(label: str, table: SubscriptionTable, events: EventBatch, engines: list[str], learned: bool) -> None:
    """Engines and the baseline in turn."""
    floor = Baseline(table, events)
    if not floor.matches(CHECKED).equals(ScanEngine(table).match(events.slice(0, CHECKED))):
        raise SystemExit("the baseline disagrees with scan")
    made = [(name, *built(name, table, events)) for name in engines]
    for _, engine, _ in made:
        if learned and isinstance(engine, TamisEngine):
            engine.match(events)
            engine.merge()
    alone = [events.slice(i, i + 1) for i in range(len(events))]
    below: list[float] = []
    batch: dict[str, list[float]] = {name: [] for name in engines}
    single: dict[str, list[float]] = {name: [] for name in engines}
    for turn in range(ROUNDS + 1):
        floors = floor.seconds(time.thread_time) * 1e6
        for name, engine, _ in made:
            whole = cpu(lambda engine=engine: engine.match(events)) / len(events) * 1e6  # type: ignore[misc]
            ones = cpu(lambda engine=engine: [engine.match(one) for one in alone])  # type: ignore[misc]
            if turn:
                batch[name].append(whole)
                single[name].append(ones / len(events) * 1e6)
        if turn:
            below.append(floors)
    base = float(np.median(below))
    for name, engine, seconds in made:
        stats = engine.stats()
        told(
            f"{label} {name}",
            baseline=base,
            batch=float(np.median(batch[name])),
            least=min(batch[name]),
            single=float(np.median(single[name])),
            ratio=float(np.median(batch[name])) / base,
            ratio_of_least=min(batch[name]) / min(below),
            single_ratio=float(np.median(single[name])) / base,
            bytes_per_subscription=stats.bytes_held / len(table),
            build_s=seconds,
            matches=stats.matches / stats.events,
            candidates=stats.candidates / stats.events,
            details=stats.details if name == "tamis" else "",
        )


def threads(label: str, table: SubscriptionTable, events: EventBatch) -> None:
    """The same batch with one thread and with two."""
    engines = {n: TamisEngine.build(table, TamisOptions(threads=n, merge="never")) for n in (1, 2)}
    times: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(4 * ROUNDS):
        for n, engine in engines.items():
            started = time.perf_counter()
            engine.match(events)
            if turn > 2:
                times[n].append((time.perf_counter() - started) / len(events) * 1e6)
    one, two = (float(np.median(times[n])) for n in (1, 2))
    told(label, one_us=one, two_us=two, faster=one / two, faster_at_best=min(times[1]) / min(times[2]))


def churn(seconds: float, subscriptions: int, call: int = 1000) -> None:
    """Rates of a writer that inserts and removes, `call` at a time, while another thread matches batches of 100."""
    table, events = sized(subscriptions)
    engine = TamisEngine.build(table, TamisOptions())
    engine.match(events.slice(0, 100))
    fresh = [table.take(np.arange(i * call, (i + 1) * call)) for i in range(subscriptions // call)]
    stop, matched = threading.Event(), 0

    def read() -> None:
        nonlocal matched
        while not stop.is_set():
            engine.match(events.slice(matched % 900, matched % 900 + 100))
            matched += 100

    reader = threading.Thread(target=read)
    reader.start()
    started, changed, inserting, removing = time.perf_counter(), 0, 0.0, 0.0
    while time.perf_counter() - started < seconds:
        some = fresh[changed // call % len(fresh)]
        at = time.perf_counter()
        engine.remove(some.owners)
        middle = time.perf_counter()
        engine.insert(some)
        removing, inserting = removing + middle - at, inserting + time.perf_counter() - middle
        changed += call
    took = time.perf_counter() - started
    stop.set()
    reader.join()
    engine.wait()
    told(
        f"churn of {subscriptions:,}",
        both_per_s=changed / took,
        inserts_per_s_of_insert=changed / inserting,
        removals_per_s_of_remove=changed / removing,
        events_per_s=matched / took,
        merges=engine.merges,
    )


def matcher(subscriptions: int) -> None:
    """Text in, ids out, one dict after the other; `kept`: with all lists of ids kept to the end."""
    columns = draw(Numeric(subscriptions, match=1e-3, themes=500, seed=11))
    attrs, low, high = columns.attrs.tolist(), columns.low.tolist(), columns.high.tolist()
    made, offsets = Matcher(), columns.offsets.tolist()

    def text(i: int) -> str:
        parts = (
            f"a{attrs[p]} = {low[p]}" if low[p] == high[p] else f"a{attrs[p]} between {low[p]} and {high[p]}"
            for p in range(offsets[i], offsets[i + 1])
        )
        return " and ".join(parts)

    seconds = cpu(lambda: made.subscribe_many((i, text(i)) for i in range(subscriptions)))
    at = columns.event_offsets.tolist()
    names, values = [f"a{a}" for a in columns.event_attrs.tolist()], columns.event_values.tolist()
    events = [dict(zip(names[a:b], values[a:b], strict=True)) for a, b in pairwise(at)]
    wanted = made.match_many(events[:50])
    if [sorted(made.match(event)) for event in events[:50]] != [sorted(row) for row in wanted]:
        raise SystemExit("one by one and all at once disagree")
    times = [cpu(lambda: sum(len(made.match(event)) for event in events)) / len(events) * 1e6 for _ in range(ROUNDS)]
    kept = [cpu(lambda: [made.match(event) for event in events]) / len(events) * 1e6 for _ in range(ROUNDS)]
    batch = [cpu(lambda: made.match_many(events)) / len(events) * 1e6 for _ in range(ROUNDS)]
    told(
        f"matcher of {subscriptions:,}",
        match_us=float(np.median(times)),
        least=min(times),
        kept_us=float(np.median(kept)),
        match_many_us=float(np.median(batch)),
        attributes=len(names) / len(events),
        ids=sum(map(len, made.match_many(events))) / len(events),
        subscribe_s=seconds,
    )


def disk(label: str, table: SubscriptionTable, events: EventBatch) -> None:
    """Saving, opening with and without checksums, and the first match after it."""
    engine = TamisEngine.build(table, TamisOptions(merge="never"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        engine.save(path)
        saving = cpu(lambda: engine.save(path))
        checked = cpu(lambda: TamisEngine.open(path))
        opening = [cpu(lambda: TamisEngine.open(path, verify=False)) for _ in range(ROUNDS)]
        again = TamisEngine.open(path, verify=False)
        first = cpu(lambda: again.match(events.slice(0, 1)))
        size = sum(file.stat().st_size for file in path.iterdir())
        told(
            label, mb=size / 1e6, save_s=saving, open_checked_ms=checked * 1e3, open_ms=float(np.median(opening)) * 1e3,
            first_match_ms=first * 1e3,
        )  # fmt: skip


def main() -> None:
    """See the top of the file."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["compare", "scale", "threads", "churn", "matcher", "disk"])
    arguments.add_argument("names", nargs="*", help=f"workloads ({', '.join(WORKLOADS)}) or, for scale, sizes")
    arguments.add_argument("--engine", action="append", default=[], help="compare: engines beside tamis")
    arguments.add_argument("--events", type=int, default=1000, help="compare, scale: how many, for slow engines")
    arguments.add_argument("--learned", action="store_true", help="compare: keys are chosen for the events first")
    arguments.add_argument("--seconds", type=float, default=10, help="churn: how long")
    arguments.add_argument("--subscriptions", type=int, default=100_000, help="churn, matcher: how many")
    given = arguments.parse_args()
    if given.what == "churn":
        churn(given.seconds, given.subscriptions)
    elif given.what == "matcher":
        matcher(given.subscriptions)
    for name in given.names:
        table, events = sized(int(name)) if given.what == "scale" else encode_reference(generate(name))
        if given.what in ("compare", "scale"):
            compare(
                name, table, events.slice(0, min(len(events), given.events)), ["tamis", *given.engine], given.learned
            )
        elif given.what == "threads":
            threads(name, table, events)
        else:
            disk(name, table, events)


if __name__ == "__main__":
    main()
