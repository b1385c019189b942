"""`dynamic`: access predicates of several attributes, their tables revised as subscriptions and events change
(Fabret et al., section 4).

Three numbers steer it, all in conjunctions checked per event. The *margin* of an access predicate, ν·rows, is what a better
one could still save; above `max_margin` its conjunctions are redistributed, and what stays too much makes it a
candidate for a new table. The *power* of a possible table, Σ (ν_old − ν_new), is what it would save the candidates;
above `min_power` it is made. The *benefit* of a table, Σ (1 − ν)·rows, is what it saves now; under `min_benefit` it is
dissolved. The chances ν are counted while matching and taken up every `refresh` events, older events counting less.

No call waits for all of this: access predicates that want a look stand in a queue, and each insert, removal and match looks
at those of about `effort` conjunctions. A table that is being dissolved is still searched, but receives nothing.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tamis.arrays.buffer import extended
from tamis.candidates.access import choose, gains
from tamis.candidates.clusters.placing import ALWAYS, MADE, WIDEST, Choice, members, reprice
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Capabilities, Options
from tamis.engines.clustered import Clustered
from tamis.engines.twostage import check_index
from tamis.errors import EngineError

CHUNK = 8192  # conjunctions taken in between two looks at the margins
BELIEF = 32.0  # events' worth of belief in the prior chance of a predicate
WORTH_MOVING = 0.9  # a conjunction moves when its new cost is below this part of the old
NEWS = 0.1  # statistics that change the expected checks by less are no reason to weigh everything again
GROWTH = 1.25  # candidates are weighed again when their margin has grown so much
WEIGHED = 16384  # conjunctions of the candidates that are weighed for a new table; of more, a random part


@dataclass(frozen=True, slots=True)
class DynamicOptions(Options):
    """The thresholds (see the module), the events between two looks at the statistics (0: never), after how many events the
    past counts half, and how many conjunctions one call weighs (0: all that want it)."""

    max_margin: float = 0.25
    min_power: float = 64.0
    min_benefit: float = 64.0
    refresh: int = 4096
    memory: int = 65536
    effort: int = 8192
    max_attributes: int = 3
    prefetch: bool = True
    index: str = "sorted"

    def __post_init__(self) -> None:
        check_index("dynamic", self.index)
        if not 1 <= self.max_attributes <= WIDEST:
            raise EngineError(f"engine 'dynamic': max_attributes={self.max_attributes} is not in 1..{WIDEST}")
        if self.effort < 0:
            raise EngineError(f"engine 'dynamic': effort={self.effort} is negative (0: without bound)")
        if self.min_benefit > self.min_power:
            raise EngineError(
                "engine 'dynamic': min_benefit above min_power would dissolve tables as soon as they are made"
            )


class DynamicEngine(Clustered):
    """Tables that come and go."""

    capabilities: ClassVar = Capabilities(
        "clusters under several attributes, tables made and dissolved", "Fabret et al."
    )
    options_type: ClassVar = DynamicOptions

    def __init__(self, dictionary: Dictionary, options: DynamicOptions) -> None:
        super().__init__(dictionary, options.index, options.prefetch)
        self.options = options
        self.observed, self.refreshed = 0.0, 0  # events counted in `seen`, fading; events at the last refresh
        self.born = np.zeros(0, np.float64)  # by predicate: `observed` when it came
        self.version = 0  # of tables and chances: what was weighed under it need not be weighed again
        self.waiting: dict[int, None] = {}  # entries that want a look, in turn
        self.candidates_known: dict[int, int] = {}  # entry → version under which it was redistributed in vain
        self.leaving: set[int] = set()  # tables being dissolved
        self.unfinished = False  # whether `tend` stopped before all was looked at
        self.settled = 0.0  # checks expected per event when the statistics last brought news
        self.weighed = 0.0  # the candidates' margin when power was last computed in vain
        self.spare = 0.0  # by how much that margin must have grown before power is worth computing again
        self.random = np.random.default_rng(0)
        self.made = self.dissolved = self.moved = 0

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """An empty engine that takes everything in, adapting on the way."""
        assert isinstance(options, DynamicOptions)
        engine = cls(subscriptions.dictionary, options)
        for start in range(0, max(1, len(subscriptions)), CHUNK):
            engine.insert(subscriptions.take(np.arange(start, min(start + CHUNK, len(subscriptions)))))
            engine.tend(0)
        return engine

    def acquired(self, predicates: Int32Array) -> None:
        """Start counting for new predicates."""
        super().acquired(predicates)
        length = self.stage.registry.made
        self.seen, self.born = extended(self.seen, max(1, length), 0), extended(self.born, length, 0)
        self.seen[predicates], self.born[predicates] = 0.0, self.observed

    def choose(self, ids: Int32Array) -> Choice:
        """The cheapest access predicate under the present tables."""
        keys, table, chance, _ = choose(self.population(), ids, self.schemas, self._receiving())
        return Choice(keys, table, chance)

    def place(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Fill the clusters, then tend to what became too much."""
        super().place(ids, offsets, predicates)
        self._received(ids)
        self.tend(self.options.effort)

    def displace(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Empty the rows, then tend to tables that no longer pay."""
        super().displace(ids, offsets, predicates)
        self.dissolve()
        self.tend(self.options.effort)

    def match(self, events: EventBatch) -> MatchSet:
        """Match, and after enough events take up the new statistics."""
        found = super().match(events)
        self.observed += len(events)
        if self.options.refresh and self.events - self.refreshed >= self.options.refresh:
            self.refresh()
        elif self.unfinished:
            self.tend(self.options.effort)
        return found

    def refresh(self) -> None:
        """Take up what was counted since: new chances, new margins, new benefits, and the looks they call for."""
        p = self.stage.registry.columns
        live = np.flatnonzero(p.refs[: self.stage.registry.made]).astype(np.int32)
        prior = self.prior(live)
        self.chance[live] = (self.seen[live] + BELIEF * prior) / (self.observed - self.born[live] + BELIEF)
        np.minimum(self.chance, 1.0, out=self.chance)
        fade = 0.5 ** ((self.events - self.refreshed) / self.options.memory)
        self.seen *= fade
        self.born *= fade
        self.observed *= fade
        self.refreshed, self.spare = self.events, 0.0
        reprice(self.access, self.chance)
        expected = self.expected_checks()
        if abs(expected - self.settled) > NEWS * self.settled:
            self.version += 1
            self.settled = expected
        self.dissolve()
        self._await(np.arange(int(self.access.counts[MADE]), dtype=np.int32))
        self.tend(self.options.effort)

    def tend(self, effort: int) -> None:
        """Look at what waits, and when nothing does, at new tables; stop once `effort` conjunctions were weighed (0: never)."""
        spent, self.unfinished = 0, True
        while effort == 0 or spent < effort:
            if self.waiting:
                spent += self.look(self._next(effort - spent))
            else:
                self._close_tables()
                weighed = self.extend()
                if weighed == 0:
                    self.unfinished = False
                    return
                spent += weighed

    def look(self, entries: Int32Array) -> int:
        """Redistribute the conjunctions of entries with too much margin or in tables that go; returns how many were weighed."""
        leaves = np.isin(self.access.table[entries], list(self.leaving))
        gone, full = entries[leaves], self._overfull(entries[~leaves])
        self.candidates_known |= dict.fromkeys(full.tolist(), self.version)
        weighed = 0
        for some, worth in ((gone, 0.0), (full, WORTH_MOVING)):
            if len(some):
                ids = members(self.access, self.clusters, some)
                self.redistribute(ids, worth)
                weighed += len(ids)
        return weighed

    def redistribute(self, ids: Int32Array, worth: float) -> None:
        """Move conjunctions to access predicates whose cost is below `worth` times the present one (0: whatever it is)."""
        a, k, c = self.access, self.clusters, self.store.columns
        keys, table, chance, cost = choose(self.population(), ids, self.schemas, self._receiving())
        if worth > 0:
            cluster = k.place[ids, 0]
            better = cost < worth * a.chance[k.entry[cluster]] * k.width[cluster]
            ids, keys, table, chance = ids[better], keys[better], table[better], chance[better]
        super().displace(ids, c.start, c.cells)
        self.put(ids, Choice(keys, table, chance))
        self.moved += len(ids)
        self._received(ids)

    def extend(self) -> int:
        """Make the table of greatest power over the candidates, if it suffices; returns how many conjunctions were weighed."""
        if self.spare > 0:
            return 0
        entries = self._overfull(np.array(sorted(self.candidates_known), np.int32))
        self.candidates_known = {e: self.candidates_known[e] for e in entries.tolist()}
        margin = float((self.access.chance[entries] * self.access.rows[entries]).sum())
        if self.options.max_attributes < 2 or margin <= max(self.options.min_power, GROWTH * self.weighed):
            self.weighed = min(self.weighed, margin)
            self.spare = max(self.options.min_power, GROWTH * self.weighed) - margin
            return 0
        self.weighed, self.spare = margin, (GROWTH - 1.0) * margin
        ids = self._sample(entries)
        scale = float(self.access.rows[entries].sum()) / len(ids)
        now = self.access.chance[self.clusters.entry[self.clusters.place[ids, 0]]]
        schemas, power, _ = gains(self.population(), ids, now, self.options.max_attributes, WIDEST, False)
        known = {tuple(schema) for schema in self.schemas.tolist()}
        best = next((i for i in np.argsort(-power).tolist() if tuple(schemas[i].tolist()) not in known), -1)
        if best < 0 or scale * power[best] <= self.options.min_power:
            return 0
        self.add_schema(schemas[best])
        self.version += 1
        self.made += 1
        self.weighed = self.spare = 0.0
        self._await(entries)
        return len(ids)

    def dissolve(self) -> None:
        """Have the conjunctions of tables that no longer pay go to the others."""
        a = self.access
        for t in np.flatnonzero((self.arity > 0) & (a.benefit < self.options.min_benefit)).tolist():
            if t not in self.leaving:
                self.leaving.add(t)
                self.version += 1
                self.dissolved += 1
                gone = np.flatnonzero(a.table[: a.counts[MADE]] == t).tolist()
                self.waiting = dict.fromkeys(gone) | self.waiting

    def details(self) -> dict[str, Any]:
        """Tables made and dissolved, conjunctions moved, margin left."""
        changes = {"tables made": self.made, "tables dissolved": self.dissolved, "conjunctions moved": self.moved}
        state = {"access predicates waiting": len(self.waiting), "expected checks per event": self.expected_checks()}
        return {**super().details(), **changes, **state}

    def expected_checks(self) -> float:
        """Conjunctions an event is expected to check: Σ ν·rows."""
        a, made = self.access, int(self.access.counts[MADE])
        return float((a.chance * np.where(a.table >= 0, a.rows, 0))[:made].sum())

    def _next(self, room: int) -> Int32Array:
        """The next entries in turn, of as many conjunctions as there is room for (0 or less: all), but at least one."""
        entries = np.array(list(self.waiting), np.int32)
        if room > 0:
            ends = np.cumsum(self.access.rows[entries])
            entries = entries[: max(1, int(np.searchsorted(ends, room)))]
        for entry in entries.tolist():
            del self.waiting[entry]
        return entries

    def _received(self, ids: Int32Array) -> None:
        """Conjunctions have come to their entries, each raising the candidates' margin by no more than 1 + max_margin."""
        self.spare -= (1.0 + self.options.max_margin) * len(ids)
        self._await(self._entries_of(ids))

    def _await(self, entries: Int32Array) -> None:
        """Queue those entries that have too much margin and were not weighed as things are."""
        known, version = self.candidates_known, self.version
        self.waiting |= {e: None for e in self._overfull(entries).tolist() if known.get(e) != version}

    def _receiving(self) -> Int32Array:
        """The arity of tables by number, 0 for those that receive nothing."""
        if not self.leaving:
            return self.arity
        arity = self.arity.copy()
        arity[list(self.leaving)] = 0
        return arity

    def _close_tables(self) -> None:
        """Give up the tables that were dissolved: with nothing waiting, nothing is left in them."""
        for t in self.leaving:
            self.arity[t] = 0
            self.schemas[t] = -1
        self.leaving.clear()

    def _sample(self, entries: Int32Array) -> Int32Array:
        """The conjunctions of entries, or a random part of them."""
        room = self.random.permutation(entries)
        share = max(1, int(np.searchsorted(np.cumsum(self.access.rows[room]), WEIGHED)))
        return members(self.access, self.clusters, room[:share])

    def _entries_of(self, ids: Int32Array) -> Int32Array:
        return np.unique(self.clusters.entry[self.clusters.place[ids, 0]])

    def _overfull(self, entries: Int32Array) -> Int32Array:
        a = self.access
        entries = entries[(a.table[entries] >= 0) & (entries != ALWAYS)]
        return entries[a.chance[entries] * a.rows[entries] > self.options.max_margin]
