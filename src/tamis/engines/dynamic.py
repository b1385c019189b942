"""`dynamic`: access predicates of several attributes, their tables revised as subscriptions and events change
(Fabret et al., section 4).

Three numbers steer it, all in conjunctions checked per event. The *margin* of an access predicate, ν·rows, is what a better
one could still save; above `max_margin` its conjunctions are redistributed, and what stays too much makes it a
candidate for a new table. The *power* of a possible table, Σ (ν_old − ν_new), is what it would save the candidates;
above `min_power` it is made. The *benefit* of a table, Σ (1 − ν)·rows, is what it saves now; under `min_benefit` it is
dissolved. The chances ν are counted while matching and taken up every `refresh` events, older events counting less.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tamis.arrays.buffer import extended
from tamis.candidates.access import choose, gains
from tamis.candidates.clusters import ALWAYS, MADE, WIDEST, Choice, members, reprice
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


@dataclass(frozen=True, slots=True)
class DynamicOptions(Options):
    """The thresholds (see the module), the events between two looks at the statistics (0: never), and after how many
    events the past counts half."""

    max_margin: float = 1.0
    min_power: float = 64.0
    min_benefit: float = 64.0
    refresh: int = 4096
    memory: int = 65536
    max_attributes: int = 3
    prefetch: bool = True
    index: str = "sorted"

    def __post_init__(self) -> None:
        check_index("dynamic", self.index)
        if not 1 <= self.max_attributes <= WIDEST:
            raise EngineError(f"engine 'dynamic': max_attributes={self.max_attributes} is not in 1..{WIDEST}")
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
        self.candidates_known: dict[int, int] = {}  # entry → version under which it was redistributed in vain
        self.settled = 0.0  # checks expected per event when the statistics last brought news
        self.weighed = 0.0  # the candidates' margin when power was last computed
        self.made = self.dissolved = self.moved = 0

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """An empty engine that takes everything in, adapting on the way."""
        assert isinstance(options, DynamicOptions)
        engine = cls(subscriptions.dictionary, options)
        for start in range(0, max(1, len(subscriptions)), CHUNK):
            engine.insert(subscriptions.take(np.arange(start, min(start + CHUNK, len(subscriptions)))))
        return engine

    def acquired(self, predicates: Int32Array) -> None:
        """Start counting for new predicates."""
        super().acquired(predicates)
        length = self.stage.registry.made
        self.seen, self.born = extended(self.seen, max(1, length), 0), extended(self.born, length, 0)
        self.seen[predicates], self.born[predicates] = 0.0, self.observed

    def choose(self, ids: Int32Array) -> Choice:
        """The cheapest access predicate under the present tables."""
        keys, table, chance, _ = choose(self.population(), ids, self.schemas, self.arity)
        return Choice(keys, table, chance)

    def place(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Fill the clusters, then repair what became too much."""
        super().place(ids, offsets, predicates)
        self.repair(self._entries_of(ids))

    def displace(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Empty the rows, then dissolve tables that no longer pay."""
        super().displace(ids, offsets, predicates)
        self.dissolve()

    def match(self, events: EventBatch) -> MatchSet:
        """Match, and after enough events take up the new statistics."""
        found = super().match(events)
        self.observed += len(events)
        if self.options.refresh and self.events - self.refreshed >= self.options.refresh:
            self.refresh()
        return found

    def refresh(self) -> None:
        """Take up what was counted since: new chances, new margins, new benefits, and the repairs they call for."""
        p = self.stage.registry.columns
        live = np.flatnonzero(p.refs[: self.stage.registry.made]).astype(np.int32)
        prior = self.prior(live)
        self.chance[live] = (self.seen[live] + BELIEF * prior) / (self.observed - self.born[live] + BELIEF)
        np.minimum(self.chance, 1.0, out=self.chance)
        fade = 0.5 ** ((self.events - self.refreshed) / self.options.memory)
        self.seen *= fade
        self.born *= fade
        self.observed *= fade
        self.refreshed = self.events
        reprice(self.access, self.chance)
        expected = self.expected_checks()
        if abs(expected - self.settled) > NEWS * self.settled:
            self.version += 1
            self.settled = expected
        self.dissolve()
        self.repair(np.arange(int(self.access.counts[MADE]), dtype=np.int32))

    def repair(self, entries: Int32Array) -> None:
        """Redistribute the conjunctions of entries with too much margin; give what remains to new tables."""
        queue = self._overfull(entries)
        while queue:
            entry = queue.pop()
            if self.candidates_known.get(entry) == self.version or not self._overfull(np.array([entry], np.int32)):
                continue
            queue += self._overfull(self.redistribute(members(self.access, self.clusters, entry)))
            self.candidates_known[entry] = self.version
        self.candidates_known = {e: self.candidates_known[e] for e in self._overfull_known()}
        margin = float(sum(self.access.chance[e] * self.access.rows[e] for e in self.candidates_known))
        if margin > max(self.options.min_power, GROWTH * self.weighed):
            self.extend()
        else:
            self.weighed = min(self.weighed, margin)

    def redistribute(self, ids: Int32Array) -> Int32Array:
        """Move conjunctions to clearly better access predicates; returns the entries they went to."""
        a, k, c = self.access, self.clusters, self.store.columns
        keys, table, chance, cost = choose(self.population(), ids, self.schemas, self.arity)
        cluster = k.place[ids, 0]
        now = a.chance[k.entry[cluster]] * k.width[cluster]
        better = cost < WORTH_MOVING * now
        ids = ids[better]
        super().displace(ids, c.start, c.cells)
        self.put(ids, Choice(keys[better], table[better], chance[better]))
        self.moved += len(ids)
        return self._entries_of(ids)

    def extend(self) -> None:
        """Make the table of greatest power over the candidates, and the next, while the power suffices."""
        while True:
            entries = self._overfull_known()
            ids = self._members(entries)
            self.weighed = float(sum(self.access.chance[e] * self.access.rows[e] for e in entries))
            now = self.access.chance[self.clusters.entry[self.clusters.place[ids, 0]]]
            schemas, power, _ = gains(self.population(), ids, now, self.options.max_attributes, WIDEST, False)
            for i, schema in enumerate(schemas):
                if (self.schemas == schema).all(axis=1).any():
                    power[i] = 0.0
            if self.options.max_attributes < 2 or not len(power) or power.max() <= self.options.min_power:
                return
            self.add_schema(schemas[power.argmax()])
            self.version += 1
            self.made += 1
            received = self.redistribute(ids)
            self.candidates_known = dict.fromkeys(self._overfull(np.union1d(received, entries)), self.version)

    def dissolve(self) -> None:
        """Give the conjunctions of tables that no longer pay to the others."""
        a = self.access
        for t in np.flatnonzero((self.arity > 0) & (a.benefit < self.options.min_benefit)):
            self.arity[t] = 0
            self.schemas[t] = -1
            self.version += 1
            self.dissolved += 1
            entries = np.flatnonzero(self.access.table[: a.counts[MADE]] == t).tolist()
            ids = self._members(entries)
            super().displace(ids, self.store.columns.start, self.store.columns.cells)
            self.put(ids, self.choose(ids))
            self.moved += len(ids)
            self.repair(self._entries_of(ids))

    def details(self) -> dict[str, Any]:
        """Tables made and dissolved, conjunctions moved, margin left."""
        changes = {"tables made": self.made, "tables dissolved": self.dissolved, "conjunctions moved": self.moved}
        return {**super().details(), **changes, "expected checks per event": self.expected_checks()}

    def expected_checks(self) -> float:
        """Conjunctions an event is expected to check: Σ ν·rows."""
        a, made = self.access, int(self.access.counts[MADE])
        return float((a.chance * np.where(a.table >= 0, a.rows, 0))[:made].sum())

    def _members(self, entries: list[int]) -> Int32Array:
        parts = [members(self.access, self.clusters, entry) for entry in entries]
        return np.concatenate([*parts, np.zeros(0, np.int32)])

    def _entries_of(self, ids: Int32Array) -> Int32Array:
        return np.unique(self.clusters.entry[self.clusters.place[ids, 0]])

    def _overfull(self, entries: Int32Array) -> list[int]:
        a = self.access
        entries = entries[(a.table[entries] >= 0) & (entries != ALWAYS)]
        found: list[int] = entries[a.chance[entries] * a.rows[entries] > self.options.max_margin].tolist()
        return found

    def _overfull_known(self) -> list[int]:
        return self._overfull(np.array(sorted(self.candidates_known), np.int32))
