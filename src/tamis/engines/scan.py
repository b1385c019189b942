"""`scan`: every conjunction against every event. The oracle for all engines, the baseline, and the shortest documentation.

It has no index to go wrong; its meaning is that of `model/evaluate.py`, which the contract suite compares it with.
"""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel
from tamis.candidates.verify import conjunction_holds, gather, scatter
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options


class ScanEngine:
    """Tests all conjunctions; inserts append, removals filter."""

    capabilities: ClassVar = Capabilities("tests every conjunction: oracle and baseline", "the definition")
    options_type: ClassVar = Options

    def __init__(self, table: SubscriptionTable) -> None:
        self.table = table
        self.events = self.checked = self.matches = 0

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """Keep the table as it is."""
        return cls(subscriptions)

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """Append."""
        self.table = SubscriptionTable.concat([self.table, subscriptions])

    def remove(self, ids: Int32Array) -> None:
        """Filter."""
        self.table = self.table.without(ids)

    def match(self, events: EventBatch) -> MatchSet:
        """Every conjunction against every event."""
        t = self.table
        attributes = len(t.dictionary)
        highest = int(t.owners.max(initial=-1)) + 1
        columns = (t.owners, t.offsets, t.attrs, t.ops, t.lo, t.hi, t.sets)
        found = MatchSet(*scan(*columns, events.offsets, events.attrs, events.keys, attributes, highest))
        self.events += len(events)
        self.checked += len(events) * len(t)
        self.matches += len(found.ids)
        return found

    def stats(self) -> EngineStats:
        """Every event checks every conjunction."""
        t = self.table
        return EngineStats(len(np.unique(t.owners)), len(t), t.nbytes, self.events, self.checked, self.matches)


@kernel
def scan(
    owners: Int32Array,
    offsets: Int64Array,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    sets: Int64Array,
    event_offsets: Int64Array,
    event_attrs: Int32Array,
    event_keys: Int64Array,
    attributes: int,
    highest: int,
) -> tuple[Int64Array, Int32Array]:
    """All conjunctions against all events; returns CSR (offsets int64[n+1], owners int32[m]), mutates nothing given."""
    begin, end = np.zeros(attributes, np.int32), np.zeros(attributes, np.int32)
    last_event = np.full(highest, -1, np.int64)
    out = np.empty(1024, np.int32)
    out_offsets = np.zeros(len(event_offsets), np.int64)
    n = 0
    for e in range(len(event_offsets) - 1):
        first, last = event_offsets[e], event_offsets[e + 1]
        scatter(event_attrs, first, last, begin, end)
        for c in range(len(owners)):
            if last_event[owners[c]] != e and conjunction_holds(
                offsets[c], offsets[c + 1], attrs, ops, lo, hi, sets, event_keys, begin, end
            ):
                last_event[owners[c]] = e
                out = grown(out, n + 1)
                out[n] = owners[c]
                n += 1
        gather(event_attrs, first, last, begin, end)
        out_offsets[e + 1] = n
    return out_offsets, out[:n].copy()
