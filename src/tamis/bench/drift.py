"""The two drift experiments of Fabret et al., section 6.3, at a size of choice: what happens to a clustering when the world
it was made for goes away.

The engines hold a window of subscriptions. Each simulated hour a 24th of them, the oldest, is replaced. After a few hours
the new ones (in the second experiment also the events) come from another workload; a day later the change is complete.
`frozen` keeps the tables that were best at the start (`static`), `dynamic` adapts. Throughput is what a second
leaves for events once its share of changes has been made; `dynamic` takes up its statistics once an hour, which is
charged alike. All upkeep is done when changes and statistics come, none while matching. Time is processor time: both engines
use one thread.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time
from typing import TypeVar

import numpy as np

from tamis.encoding.bulk_events import encode_wide
from tamis.encoding.bulk_subscriptions import encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.dynamic import DynamicEngine, DynamicOptions
from tamis.engines.static import StaticEngine, StaticOptions
from tamis.workloads.fabret import Fabret

DAY = 24
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Drift:
    """An experiment: two workloads, and whether events follow the second one too."""

    name: str
    before: Fabret
    after: Fabret
    events_follow: bool


DRIFTS = (
    Drift("schema", Fabret(focus=(0, 16)), Fabret(focus=(16, 32)), events_follow=False),
    Drift("skew", Fabret(), Fabret(hot=2), events_follow=True),
)


@dataclass(frozen=True, slots=True)
class Hour:
    """What one engine did in one simulated hour; `events_per_second` is left when changes have been made."""

    experiment: str
    strategy: str
    hour: int
    events_per_second: float
    event_microseconds: float
    change_microseconds: float
    refresh_milliseconds: float
    tables: int
    checked_per_event: float


def run(
    drift: Drift, subscriptions: int = 100_000, hours: int = 60, start: int = 6, events: int = 2000, changes: int = 500
) -> Iterator[Hour]:
    """Both engines through all hours, holding each to the other's matches; `changes` are subscriptions replaced a second."""
    dictionary = Dictionary()
    share = subscriptions // DAY
    subscriptions = share * DAY
    first = encode_predicates(drift.before.subscriptions(subscriptions, seed=0), dictionary)
    encode_predicates(drift.after.subscriptions(share, seed=0), dictionary)  # names its attributes
    sample = batch(drift.before, dictionary, events, seed=1)
    engines: dict[str, StaticEngine | DynamicEngine] = {
        "frozen": StaticEngine.build(first, StaticOptions(sample=sample)),
        "dynamic": DynamicEngine.build(first, DynamicOptions(refresh=0, memory=4 * events, effort=0)),
    }
    for engine in engines.values():  # compile before the clock runs
        engine.match(sample.slice(0, 1))
        replaced(engine, first.owners[:1], first.take(np.arange(1)))
    for hour in range(hours):
        changed = hour >= start
        made_from = drift.after if changed else drift.before
        ids = np.arange(share, dtype=np.int32) + hour % DAY * share
        rows = encode_predicates(made_from.subscriptions(share, seed=100 + hour, first=int(ids[0])), dictionary)
        stream = batch(drift.after if changed and drift.events_follow else drift.before, dictionary, events, 500 + hour)
        answers = []
        for strategy, engine in engines.items():
            spent = replaced(engine, ids, rows) / share
            checked = engine.candidates
            answer, took = timed(partial(engine.match, stream))
            answers.append(answer)
            each = took / events
            refreshing = refreshed(engine)
            left = max(0.0, 1.0 - changes * spent - refreshing / 3600)
            tables = int((engine.arity > 0).sum())
            checks = (engine.candidates - checked) / events
            timings = (left / each, each * 1e6, spent * 1e6, refreshing * 1e3)
            yield Hour(drift.name, strategy, hour, *timings, tables, checks)
        if not answers[0].equals(answers[1]):
            raise AssertionError(f"frozen and dynamic disagree in hour {hour} of {drift.name}")


def renewed(drift: Drift, subscriptions: int = 100_000, events: int = 2000) -> float:
    """Events per second of `static` with tables chosen for the world after the change: what adapting could reach at best."""
    dictionary = Dictionary()
    rows = encode_predicates(drift.after.subscriptions(subscriptions, seed=0), dictionary)
    sample = batch(drift.after if drift.events_follow else drift.before, dictionary, events, seed=1)
    engine = StaticEngine.build(rows, StaticOptions(sample=sample))
    engine.match(sample.slice(0, 1))
    return events / sorted(timed(partial(engine.match, sample))[1] for _ in range(5))[2]


def batch(workload: Fabret, dictionary: Dictionary, count: int, seed: int) -> EventBatch:
    """Events of a workload, encoded."""
    return encode_wide(workload.events(count, seed), dictionary).strict()


def replaced(engine: StaticEngine | DynamicEngine, ids: Int32Array, rows: SubscriptionTable) -> float:
    """Seconds to replace subscriptions by others under the same ids."""
    return timed(partial(engine.remove, ids))[1] + timed(partial(engine.insert, rows))[1]


def refreshed(engine: StaticEngine | DynamicEngine) -> float:
    """Seconds to take up new statistics, for an engine that does."""
    return timed(engine.refresh)[1] if isinstance(engine, DynamicEngine) else 0.0


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What some work gives, and its processor time; by the wall where the processor's clock stood still, as some do."""
    began, wall = process_time(), perf_counter()
    found = work()
    return found, process_time() - began or perf_counter() - wall
