"""Figures of the partitioning engines at their papers' parameters, printed as a table. See docs/engines.

    python benchmarks/partitioning.py rapid 100000 --light 10      RAPIDMatch and TreeMatch, all event models
    python benchmarks/partitioning.py pubsub 1000000 --skew 1      PUBSUB, BE-Tree and Siena (--matching 0.0001)
    python benchmarks/partitioning.py buckets 1000000              PUBSUB by bucket size

Times are CPU time of the matching thread, the best of three runs over one batch of events, compilation excluded.
"""

import argparse
import time

import numpy as np

from tamis.encoding.bulk_events import encode_long
from tamis.encoding.bulk_subscriptions import encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Engine
from tamis.engines.registry import build_engine
from tamis.model.schema import IntDomain, PublicationType
from tamis.workloads import pubsub, rapid


def timed(engine: Engine, batch: EventBatch, runs: int = 3) -> float:
    """Microseconds of CPU per event."""
    engine.match(batch.slice(0, 1))
    best = float("inf")
    for _ in range(runs):
        start = time.thread_time()
        engine.match(batch)
        best = min(best, time.thread_time() - start)
    return best * 1e6 / len(batch)


def report(label: str, engine: Engine, batch: EventBatch, built: float) -> float:
    """One line of figures; returns microseconds per event."""
    before = engine.stats()
    cost = timed(engine, batch)
    after = engine.stats()
    events = after.events - before.events
    matches = (after.matches - before.matches) / events
    checked = (after.candidates - before.candidates) / events
    visits = {k: round((v - before.details[k]) / events, 1) for k, v in after.details.items() if k.endswith("visited")}
    print(  # noqa: T201
        f"{label:34} {cost:10.1f} us/event {matches:9.1f} matches {cost / max(matches, 1e-9):9.3f} us/match "
        f"{checked:9.1f} checked {after.bytes_held / max(after.subscriptions, 1):8.0f} B/sub build {built:6.1f} s {visits}",
        flush=True,
    )
    return cost


def build(label: str, name: str, table: SubscriptionTable, batch: EventBatch, **options: object) -> float:
    """Build an engine (once small, so that compilation is not counted) and report on it."""
    build_engine(name, table.take(np.arange(min(100, len(table)))), options).match(batch.slice(0, 1))
    start = time.thread_time()
    engine = build_engine(name, table, options)
    return report(label, engine, batch, time.thread_time() - start)


def run_rapid(count: int, events: int, light: int) -> None:
    """Both engines over every event model of the paper."""
    dictionary = Dictionary()
    table = encode_predicates(rapid.subscriptions(count, 1), dictionary)
    models = [(f"zipf alpha={a}", rapid.light_events(events, 2, alpha=a)) for a in (1, 2, 3, 4)]
    models += [(f"exponential p={p}", rapid.exponential_events(events, 2, p=p)) for p in (0.01, 0.03, 0.1, 0.2, 0.3)]
    batches = [(name, encode_long(table, dictionary)[0].batch) for name, table in models]
    costs: dict[str, list[float]] = {}
    for name, options in (("tree", {}), ("rapid", {"light": light})):
        build_engine(name, table.take(np.arange(100)), options).match(batches[0][1])
        start = time.thread_time()
        engine = build_engine(name, table, options)
        built = time.thread_time() - start
        costs[name] = [report(f"{name} {label}", engine, batch, built) for label, batch in batches]
        print(engine.stats().details, flush=True)  # noqa: T201
        by_output(name, engine, batches[1][1])
    for (label, _), slow, fast in zip(batches, costs["tree"], costs["rapid"], strict=True):
        print(f"{label:24} tree / rapid = {slow / fast:6.2f}", flush=True)  # noqa: T201


def by_output(name: str, engine: Engine, batch: EventBatch) -> None:
    """Time per match for events grouped by how many subscriptions they match."""
    sizes = np.diff(engine.match(batch).offsets)
    for low, high in ((1, 10), (10, 100), (100, 1000), (1000, 10**9)):
        chosen = np.flatnonzero((sizes >= low) & (sizes < high))
        if len(chosen):
            cost = np.mean([timed(engine, batch.slice(i, i + 1), 1) for i in chosen[:50]])
            per = cost / sizes[chosen[:50]].mean()
            print(f"  {name}: {low}..{high} matches: {len(chosen)} events, {per:.2f} us/match", flush=True)  # noqa: T201


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
    build("pubsub it", "pubsub", table, batch, structure="it")
    build("pubsub rbpst", "pubsub", table, batch, structure="rbpst")
    build("betree", "betree", table, batch)
    build("siena", "siena", table, batch)
    build("tree", "tree", table, batch)


def run_buckets(count: int, events: int, skew: float, matching: float, attributes: int) -> None:
    """PUBSUB by bucket size."""
    table, batch = pubsub_data(count, events, skew, matching, attributes)
    for size in (10, 100, 1000, 5000, 20000):
        for structure in ("it", "rbpst"):
            build(f"pubsub {structure} {size}", "pubsub", table, batch, structure=structure, bucket_size=size)


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rapid", "pubsub", "buckets"])
    parser.add_argument("count", type=int)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--light", type=int, default=8)
    parser.add_argument("--skew", type=float, default=0.0)
    parser.add_argument("--matching", type=float, default=0.01)
    parser.add_argument("--attributes", type=int, default=1000)
    given = parser.parse_args()
    if given.what == "rapid":
        run_rapid(given.count, given.events, given.light)
    elif given.what == "pubsub":
        run_pubsub(given.count, given.events, given.skew, given.matching)
    else:
        run_buckets(given.count, given.events, given.skew, given.matching, given.attributes)


if __name__ == "__main__":
    main()
