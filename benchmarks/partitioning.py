"""Figures of the partitioning engines at their papers' parameters, printed as a table. See docs/engines.

    python benchmarks/partitioning.py rapid 100000 --light 10      RAPIDMatch and TreeMatch, all event models
    python benchmarks/partitioning.py output 100000 --light 10     time per match by output size: 1/100, 1/10 and all of these
    python benchmarks/partitioning.py pubsub 1000000 --skew 1      PUBSUB, BE-Tree and Siena (--matching 0.0001)
    python benchmarks/partitioning.py buckets 1000000              PUBSUB by bucket size
    python benchmarks/partitioning.py text 10000                   text structures by number of patterns

Times are CPU time of the matching thread, the best of five runs over one batch of events, compilation excluded. Engines take
turns, so that a busy moment of the machine hits them all.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np
import psutil

from tamis.encoding.bulk_events import encode_long
from tamis.encoding.bulk_subscriptions import encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Engine
from tamis.engines.registry import build_engine
from tamis.model.schema import IntDomain, PublicationType
from tamis.predicates.text import FINDERS
from tamis.workloads import pubsub, rapid

ROUNDS = 5


class Built(NamedTuple):
    """An engine to measure, the seconds it took to build, and by how many bytes the process grew."""

    label: str
    engine: Engine
    seconds: float
    resident: int


def build(label: str, name: str, table: SubscriptionTable, batch: EventBatch, **options: object) -> Built:
    """Build an engine, once small before, so that compilation is not counted."""
    build_engine(name, table.take(np.arange(min(6000, len(table)))), options).match(batch.slice(0, 1))
    process = psutil.Process()
    before, start = process.memory_info().rss, time.thread_time()
    engine = build_engine(name, table, options)
    return Built(label, engine, time.thread_time() - start, process.memory_info().rss - before)


def report(all_built: list[Built], batch: EventBatch) -> list[float]:
    """A line of figures each; returns microseconds per event."""
    before = [built.engine.stats() for built in all_built]
    costs = np.min([[timed(built.engine, batch) for built in all_built] for _ in range(ROUNDS)], axis=0)
    for (label, engine, seconds, resident), was, cost in zip(all_built, before, costs, strict=True):
        now = engine.stats()
        events = now.events - was.events
        matches, checked = (now.matches - was.matches) / events, (now.candidates - was.candidates) / events
        visits = {k: round((v - was.details[k]) / events, 1) for k, v in now.details.items() if k.endswith("visited")}
        held, grown = now.bytes_held / now.subscriptions, resident / now.subscriptions
        print(  # noqa: T201
            f"{label:24} {cost:9.1f} us/event {matches:8.1f} matches {cost / max(matches, 1e-9):8.3f} us/match "
            f"{checked:8.1f} checked {held:5.0f} B/sub (resident {grown:5.0f}) build {seconds:5.1f} s {visits}",
            flush=True,
        )
    return [float(cost) for cost in costs]


def timed(engine: Engine, batch: EventBatch) -> float:
    """Microseconds of CPU per event."""
    start = time.thread_time()
    engine.match(batch)
    return (time.thread_time() - start) * 1e6 / len(batch)


def run_rapid(count: int, events: int, light: int) -> None:
    """Both engines over every event model of the paper."""
    dictionary = Dictionary()
    table = encode_predicates(rapid.subscriptions(count, 1), dictionary)
    models = [(f"zipf alpha={a}", rapid.light_events(events, 2, alpha=a)) for a in (1, 2, 3, 4)]
    models += [(f"exponential p={p}", rapid.exponential_events(events, 2, p=p)) for p in (0.01, 0.03, 0.1, 0.2, 0.3)]
    batches = [(name, encode_long(table, dictionary)[0].batch) for name, table in models]
    both = [build("tree", "tree", table, batches[0][1]), build("rapid", "rapid", table, batches[0][1], light=light)]
    for label, batch in batches:
        slow, fast = report([built._replace(label=f"{built.label} {label}") for built in both], batch)
        print(f"{label:24} tree / rapid = {slow / fast:6.2f}", flush=True)  # noqa: T201
    print(both[1].engine.stats().details, flush=True)  # noqa: T201


def run_output(count: int, events: int, light: int) -> None:
    """Time per match where more subscriptions mean more matches per event."""
    for part in (count // 100, count // 10, count):
        dictionary = Dictionary()
        table = encode_predicates(rapid.subscriptions(part, 1), dictionary)
        batch = encode_long(rapid.light_events(events, 2, alpha=2), dictionary)[0].batch
        tree = build(f"tree of {part}", "tree", table, batch)
        report([tree, build(f"rapid of {part}", "rapid", table, batch, light=light)], batch)


def run_text(patterns: int, events: int) -> None:
    """Both text structures over random words, in values of fifty letters."""
    chance = np.random.default_rng(1)
    letters = np.array(list("abcdefghij"))
    words = ["".join(chance.choice(letters, chance.integers(3, 9))) for _ in range(patterns)]
    values = ["".join(chance.choice(letters, 50)) for _ in range(events)]
    for name, finder in FINDERS.items():
        for count in (patterns // 100, patterns // 10, patterns):
            distinct = sorted(set(words[:count]))
            start = time.thread_time()
            index = finder(distinct)
            built = time.thread_time() - start
            start = time.thread_time()
            found = sum(len(list(index.find(value))) for value in values)
            cost = (time.thread_time() - start) * 1e6 / len(values)
            line = f"{name:8} {len(distinct):8} patterns {cost:8.1f} us/value {found / len(values):8.1f} found"
            print(f"{line}, built {built:.3f} s", flush=True)  # noqa: T201


def pubsub_data(
    count: int, events: int, skew: float, matching: float, attributes: int
) -> tuple[SubscriptionTable, EventBatch]:
    """Subscriptions and events of the PUBSUB paper, with declared domains."""
    shape = pubsub.Shape(skew=skew, matching=matching, attributes=attributes)
    domain = IntDomain(0, shape.domain - 1)
    dictionary = Dictionary(type=PublicationType({f"a{i}": domain for i in range(attributes)}))
    table = encode_predicates(pubsub.subscriptions(count, 1, shape), dictionary)
    return table, encode_long(pubsub.events(events, 1, shape), dictionary)[0].batch


def run_pubsub(count: int, events: int, skew: float, matching: float) -> None:
    """PUBSUB in its forms, BE-Tree and Siena."""
    table, batch = pubsub_data(count, events, skew, matching, 400)
    forms = [build(f"pubsub {form}", "pubsub", table, batch, structure=form) for form in ("auto", "it", "rbpst")]
    report([*forms, *(build(name, name, table, batch) for name in ("betree", "siena", "tree"))], batch)


def run_buckets(count: int, events: int, skew: float, matching: float, attributes: int) -> None:
    """PUBSUB by bucket size."""
    table, batch = pubsub_data(count, events, skew, matching, attributes)
    forms = [(structure, size) for size in (10, 100, 1000, 5000, 20000) for structure in ("it", "rbpst")]
    report([build(f"{d} {n}", "pubsub", table, batch, structure=d, bucket_size=n) for d, n in forms], batch)


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rapid", "output", "pubsub", "buckets", "text"])
    parser.add_argument("count", type=int)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--light", type=int, default=8)
    parser.add_argument("--skew", type=float, default=0.0)
    parser.add_argument("--matching", type=float, default=0.01)
    parser.add_argument("--attributes", type=int, default=1000)
    given = parser.parse_args()
    if given.what == "rapid":
        run_rapid(given.count, given.events, given.light)
    elif given.what == "output":
        run_output(given.count, given.events, given.light)
    elif given.what == "text":
        run_text(given.count, given.events)
    elif given.what == "pubsub":
        run_pubsub(given.count, given.events, given.skew, given.matching)
    else:
        run_buckets(given.count, given.events, given.skew, given.matching, given.attributes)


if __name__ == "__main__":
    main()
