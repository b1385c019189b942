"""What a choice of engine looks at: a workload in a dozen numbers, from its subscriptions and a sample of its events."""

from dataclasses import dataclass

import numpy as np

from tamis.encoding.events import EventBatch
from tamis.encoding.keys import KEY_MAX, KEY_MIN
from tamis.encoding.subscriptions import IN, MISSING, SubscriptionTable
from tamis.engines.registry import build_engine

CONJUNCTIONS, EVENTS = 10_000, 100  # samples that tell the features of events within a tenth of a second


@dataclass(frozen=True, slots=True)
class Features:
    """Per workload: `subscriptions`; `attributes` they name; `predicates` per conjunction; shares of `equality` and of
    `presence` tests among predicates; `constants` per attribute. From events, None when there are none: attributes `pairs`
    per event, the probability `holds` that a predicate is satisfied, that of the `rarest` predicate of a conjunction, and
    `matches` per event. From how it is used: events per call `batch`, subscriptions replaced per event `updates`."""

    subscriptions: float
    attributes: float
    predicates: float
    equality: float
    presence: float
    constants: float
    pairs: float | None
    holds: float | None
    rarest: float | None
    matches: float | None
    batch: float
    updates: float


def features(table: SubscriptionTable, events: EventBatch | None, batch: int = 1, updates: float = 0.0) -> Features:
    """Look at all subscriptions, and at a sample of them under a sample of the events (with derived attributes)."""
    present = (table.ops == MISSING) | ((table.ops == IN) & (table.lo == KEY_MIN) & (table.hi == KEY_MAX))
    equal = (table.ops == IN) & (table.lo == table.hi)
    named = len(np.unique(table.attrs))
    constants = len(np.unique(np.stack([table.attrs[~present], table.lo[~present]]), axis=1).T)
    size = max(1, len(table.attrs))
    pairs = holds = rarest = matches = None
    if events is not None and len(events) and len(table):
        events = events.slice(0, min(EVENTS, len(events)))
        chosen = table.take(np.linspace(0, len(table) - 1, min(CONJUNCTIONS, len(table))).astype(np.int64))
        pairs = len(events.attrs) / len(events)
        matches = count(chosen, events) * len(table) / len(chosen)
        rates = predicate_rates(chosen, events)
        holds = float(rates.mean()) if len(rates) else 1.0
        filled = np.flatnonzero(np.diff(chosen.offsets))
        rarest = float(np.minimum.reduceat(rates, chosen.offsets[filled]).mean()) if len(filled) else 1.0
    return Features(
        subscriptions=len(np.unique(table.owners)),
        attributes=named,
        predicates=len(table.attrs) / max(1, len(table)),
        equality=float(equal.sum()) / size,
        presence=float(present.sum()) / size,
        constants=constants / max(1, named),
        pairs=pairs,
        holds=holds,
        rarest=rarest,
        matches=matches,
        batch=batch,
        updates=updates,
    )


def count(table: SubscriptionTable, events: EventBatch) -> float:
    """Matches per event."""
    return len(build_engine("scan", table).match(events).ids) / len(events)


def predicate_rates(table: SubscriptionTable, events: EventBatch) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """For each predicate of the table the share of events that satisfy it."""
    n = len(table.attrs)
    alone = SubscriptionTable(
        np.arange(n, dtype=np.int32),
        np.arange(n + 1, dtype=np.int64),
        *(table.attrs, table.ops, table.lo, table.hi, table.sets, table.dictionary),
    )
    found = build_engine("scan", alone).match(events)
    return np.bincount(found.ids, minlength=n) / len(events)
