"""`PresenceForest`: rows, trees and counters together."""

import numpy as np

from tamis.candidates.presence.change import plant_all, uproot_all
from tamis.candidates.presence.forest import LIVE, enlarged, new_forest
from tamis.candidates.presence.literals import pure
from tamis.candidates.presence.search import search
from tamis.candidates.rows import Rows, arranged, contradictory, longer
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable


class PresenceForest:
    """The trees with the rows they hold, and counters of the work done: all that `tree` and `rapid` need."""

    def __init__(self, table: SubscriptionTable, light: int) -> None:
        self.light, self.k = light, len(table.dictionary)
        self.rows = Rows()
        self.trees = new_forest(light)
        self.leading = np.empty(0, np.int32)
        self.native = np.empty(0, np.bool_)
        self.events = self.matches = self.visited = self.checked = self.rebuilds = 0
        self.add(table)

    @property
    def nodes(self) -> int:
        """Nodes in use, the root of each tree among them."""
        return int(self.trees.top[LIVE])

    @property
    def nbytes(self) -> int:
        """Bytes of rows and trees."""
        return self.rows.nbytes + self.trees.nbytes + self.leading.nbytes + self.native.nbytes

    def add(self, table: SubscriptionTable) -> None:
        """Insert all conjunctions into the trees they belong to."""
        needed = int(table.attrs.max(initial=-1)) + 1
        grows = needed > self.k
        if grows:
            self.k = max(needed, self.k + self.k // 4)
        by_id = np.arange(needed, dtype=np.int64)
        ordered, leading = arranged(table, by_id, absence=True)
        leading[contradictory(table)] = -1
        rows = self.rows.add(ordered)
        self.leading = longer(self.leading, self.rows.used)
        self.native = longer(self.native, self.rows.used)
        self.leading[rows] = leading
        pure(self.rows.columns, rows, self.native)
        if grows and self.light >= 0 and len(rows) < self.rows.live:  # other blocks, other trees
            self.trees, rows = new_forest(self.light), self.rows.live_rows()
            self.rebuilds += 1
        progress = np.zeros(3, np.int64)
        while not plant_all(self.trees, self.rows.columns, self.leading, rows, self.light, self.k, progress):
            self.trees = enlarged(self.trees)

    def drop(self, ids: Int32Array) -> None:
        """Remove all conjunctions of these subscriptions."""
        rows = self.rows.drop(ids)
        uproot_all(self.trees, self.rows.columns, self.leading, rows, self.light, self.k)

    def match(self, events: EventBatch) -> MatchSet:
        """Search one tree per event."""
        given = (events.offsets, events.attrs, events.keys)
        fixed = (self.trees, self.rows.columns, self.leading, self.native, self.light, self.k)
        offsets, ids, work = search(*fixed, *given, self.rows.repeating)
        self.events += len(events)
        self.matches += len(ids)
        self.visited += int(work[0])
        self.checked += int(work[1])
        return MatchSet(offsets, ids)
