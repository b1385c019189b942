"""The floor that the default engine is measured against: single-key clusters checked row by row, and nothing else.

Every conjunction is filed under its rarest equality, or under its rarest attribute where it has none; an event looks up its
values and its attributes and checks what it finds predicate by predicate. No updates, no operators but intervals of small
integers, no batches: about the least that a fast matcher can be. It is timed in the same run as the engines, so that a ratio
says something on a noisy machine.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.csr import grouped
from tamis.arrays.jit import kernel
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import IN, SubscriptionTable
from tamis.errors import EngineError


class Baseline:
    """The clusters of a table of intervals, and a batch of events to be timed on them.

    Keys become small integers first: the distinct ones of subscriptions and events, in order.
    """

    @staticmethod
    def takes(table: SubscriptionTable, events: EventBatch) -> bool:
        """Whether it can do with such conjunctions and events."""
        return not (np.any(table.ops != IN) or events.multi)

    def __init__(self, table: SubscriptionTable, events: EventBatch) -> None:
        if not self.takes(table, events):
            raise EngineError(
                "the baseline takes conjunctions of intervals and events with one value per attribute only"
            )
        values = np.unique(np.concatenate([table.lo, table.hi, events.keys]))
        low, high, keys = (np.searchsorted(values, part).astype(np.int32) for part in (table.lo, table.hi, events.keys))
        attributes = int(max(table.attrs.max(initial=0), events.attrs.max(initial=0))) + 1
        seen = np.bincount(events.attrs, minlength=attributes).astype(np.float64)
        first = access_predicates(table.offsets, table.attrs, low, high, seen)
        point = low[first] == high[first]
        width = len(values) + 1  # the last one of an attribute: the cluster of the attribute itself
        cluster = table.attrs[first].astype(np.int64) * width + np.where(point, low[first], len(values))
        heads, rows = grouped(cluster.astype(np.int32), attributes * width)
        columns = layout(rows, table.offsets, table.attrs, low, high, np.where(point, first, -1))
        self.events, self.values, self.out = events, keys, np.empty(max(1, len(rows)), np.int32)
        event = np.full(attributes, -1, np.int32)
        self._rest = (event, heads, *columns, table.owners[rows], self.out, width)

    def matches(self, events: int) -> MatchSet:
        """The matches of the first events, to be checked."""
        found = [self.out[: self._match(e)].copy() for e in range(events)]
        offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in found])]).astype(np.int64)
        return MatchSet(offsets, np.concatenate([np.zeros(0, np.int32), *found]))

    def seconds(self, clock: Callable[[], float] = time.perf_counter) -> float:
        """Mean seconds per event over all events, one call for each; only the calls are timed."""
        total, offsets, rest = 0.0, self.events.offsets, self._rest
        for event in range(len(offsets) - 1):
            started = clock()
            match_event(self.events.attrs, self.values, offsets[event], offsets[event + 1], *rest)
            total += clock() - started
        return total / (len(offsets) - 1)

    def _match(self, event: int) -> int:
        offsets = self.events.offsets
        return match_event(self.events.attrs, self.values, offsets[event], offsets[event + 1], *self._rest)


@kernel
def access_predicates(
    offsets: Int64Array, attrs: Int32Array, low: Int32Array, high: Int32Array, seen: NDArray[np.float64]
) -> Int64Array:
    """The predicate int64[c] each conjunction is filed under: its rarest equality, else that on its rarest attribute.

    offsets int64[c+1]; attrs, low, high int32[p]; seen float64[attributes]: in how many events an attribute occurs.
    """
    chosen = np.empty(len(offsets) - 1, np.int64)
    for c in range(len(chosen)):
        best, best_point = offsets[c], False
        for p in range(offsets[c], offsets[c + 1]):
            point = low[p] == high[p]
            if (point and not best_point) or (point == best_point and seen[attrs[p]] < seen[attrs[best]]):
                best, best_point = p, point
        chosen[c] = best
    return chosen


@kernel
def layout(
    ids: Int32Array, offsets: Int64Array, attrs: Int32Array, low: Int32Array, high: Int32Array, proven: Int64Array
) -> tuple[Int64Array, Int32Array, Int32Array, Int32Array]:
    """The predicates left to check of conjunctions ids[0], ids[1], … next to each other: offsets, attributes, lows, highs."""
    starts = np.zeros(len(ids) + 1, np.int64)
    to_attrs, to_low, to_high = np.empty_like(attrs), np.empty_like(low), np.empty_like(high)
    n = 0
    for i in range(len(ids)):
        for p in range(offsets[ids[i]], offsets[ids[i] + 1]):
            if p != proven[ids[i]]:
                to_attrs[n], to_low[n], to_high[n] = attrs[p], low[p], high[p]
                n += 1
        starts[i + 1] = n
    return starts, to_attrs, to_low, to_high


@kernel
def match_event(
    event_attrs: Int32Array,
    event_values: Int32Array,
    first: int,
    last: int,
    event: Int32Array,
    heads: Int64Array,
    starts: Int64Array,
    attrs: Int32Array,
    low: Int32Array,
    high: Int32Array,
    ids: Int32Array,
    out: Int32Array,
    width: int,
) -> int:
    """Write the ids that the pairs first:last satisfy to `out` and return their number; `event` is -1 before and after."""
    n = 0
    for i in range(first, last):
        event[event_attrs[i]] = event_values[i]
    for i in range(first, last):
        for key in range(2):
            cluster = event_attrs[i] * width + (event_values[i] if key == 0 else width - 1)
            for row in range(heads[cluster], heads[cluster + 1]):
                holds = True
                for p in range(starts[row], starts[row + 1]):
                    value = event[attrs[p]]
                    if value < low[p] or value > high[p]:
                        holds = False
                        break
                if holds:
                    out[n] = ids[row]
                    n += 1
    for i in range(first, last):
        event[event_attrs[i]] = -1
    return n
