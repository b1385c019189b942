"""What the engines with clusters share: access predicates, their clusters, and one outer kernel.

`propagation`, `static` and `dynamic` differ in how a conjunction's access predicate is chosen and in whether that choice
is ever revised.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import extended, grown
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.pool import enlarged, new_pool
from tamis.arrays.prefetch import prefetch
from tamis.arrays.slots import first_slot, new_slots, with_room
from tamis.candidates.access import Population
from tamis.candidates.clusters.checking import LOOKAHEAD, SIEVED, UNFOLD, check_entry, sieve_entry, sift
from tamis.candidates.clusters.placing import (
    ALWAYS,
    FREE,
    MADE,
    WIDEST,
    Access,
    Choice,
    Clusters,
    Contents,
    displace,
    find_entry,
    keys_hash,
    make_entry,
    place,
)
from tamis.candidates.conjunctions import Conjunctions
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import IN
from tamis.engines.twostage import Stamps, TwoStage, emit
from tamis.predicates.stage import EQUALITIES, SERIAL, Indexes, Work, clear, satisfy


class Clustered(TwoStage):
    """Owns access predicates, clusters and schemas, and lets them grow."""

    def __init__(self, dictionary: Dictionary, index: str, prefetch: bool) -> None:
        super().__init__(dictionary, index)
        self.prefetch = prefetch
        few, pool = np.zeros(16, np.int32), new_pool()
        self.access = Access(
            table=few.copy(),
            keys=np.full((16, WIDEST), -1, np.int32),
            chance=np.zeros(16, np.float64),
            rows=few.copy(),
            head=few.copy(),
            single=np.full(16, -1, np.int32),
            slots=new_slots(64),
            stack=few.copy(),
            counts=np.zeros(2, np.int64),
            benefit=np.zeros(1, np.float64),
        )
        self.clusters = Clusters(
            start=np.zeros(16, np.int64),
            block=np.zeros(16, np.int8),
            room=few.copy(),
            size=few.copy(),
            width=few.copy(),
            after=few.copy(),
            entry=few.copy(),
            place=np.zeros((16, 2), np.int32),
            cells=np.zeros(pool.capacity, np.int32),
            pool=pool,
            stack=few.copy(),
            counts=np.zeros(2, np.int64),
        )
        make_entry(self.access, np.full(WIDEST, -1, np.int32), 0, 1.0)
        self.schemas, self.arity = np.full((1, WIDEST), -1, np.int32), np.zeros(1, np.int32)
        self.chance = np.zeros(0, np.float64)
        self.constants = np.zeros(0, np.int64)  # by attribute: equality predicates there are
        self.seen = np.zeros(0, np.float64)
        self.found = np.zeros(0, np.int32)

    def acquired(self, predicates: Int32Array) -> None:
        """Give new predicates a chance; until more is known, all constants of an attribute are equally likely."""
        self.chance = extended(self.chance, self.stage.registry.made, 0)
        self.constants = extended(self.constants, len(self.stage.dictionary), 0)
        np.add.at(self.constants, self._equality_attributes(predicates), 1)
        self.chance[predicates] = self.prior(predicates)

    def released(self, predicates: Int32Array) -> None:
        """Count the constants that are left."""
        np.subtract.at(self.constants, self._equality_attributes(predicates), 1)

    def prior(self, predicates: Int32Array) -> NDArray[np.float64]:
        """The chance of equality predicates when events are unknown."""
        attributes = self.stage.registry.columns.attr[predicates]
        return 1.0 / np.maximum(1, self.constants[attributes])

    @abstractmethod
    def choose(self, ids: Int32Array) -> Choice:
        """An access predicate for each of the conjunctions."""

    def place(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Choose access predicates and fill the clusters."""
        made, k = self.store.made, self.clusters
        self.access = self.access._replace(single=extended(self.access.single, self.stage.registry.made, -1))
        if made > len(k.place):
            longer = np.zeros((max(made, 2 * len(k.place)), 2), np.int32)
            longer[: len(k.place)] = k.place
            self.clusters = k._replace(place=longer)
        self.found = extended(self.found, made, 0)
        self.put(ids, self.choose(ids))

    def put(self, ids: Int32Array, choice: Choice) -> None:
        """Fill the clusters, lengthening what is too short."""
        c, p, done = self.store.columns, self.stage.registry.columns, 0
        contents = Contents(c.start, c.size, c.cells, p.op, p.lo, p.hi, self.chance)
        while True:
            done = place(self.access, self.clusters, contents, ids, choice, done)
            if done == len(ids):
                return
            self._lengthen(int(c.size[ids[done]]) + 1)

    def displace(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Empty the rows of the conjunctions."""
        displace(self.access, self.clusters, ids)

    def add_schema(self, attributes: Int32Array) -> int:
        """A table for access predicates with the given attributes (int32[WIDEST], padded); returns its number."""
        free = np.flatnonzero(self.arity[1:] == 0)
        t = int(free[0]) + 1 if len(free) else len(self.arity)
        if t == len(self.arity):
            self.schemas = np.concatenate([self.schemas, attributes[None, :]])
            self.arity = np.concatenate([self.arity, np.zeros(1, np.int32)])
            self.access = self.access._replace(benefit=np.concatenate([self.access.benefit, np.zeros(1)]))
        self.schemas[t], self.arity[t], self.access.benefit[t] = attributes, np.sum(attributes >= 0), 0.0
        return t

    def population(self) -> Population:
        """Conjunctions and predicates with their chances, for choosing."""
        c, p = self.store.columns, self.stage.registry.columns
        return Population(c.start, c.size, c.cells, p.attr, p.op, p.lo, p.hi, self.chance)

    def run(self, events: EventBatch) -> tuple[Int64Array, Int32Array, int]:
        """The outer kernel."""
        state = (self.stage.indexes(), self.stage.prepare(events), self.access, self.clusters, self.schemas, self.arity)
        scratch = (self.store.columns, self.stamps, self.found, self.seen, self.prefetch)
        return match_clusters(*state, *scratch, events.offsets, events.attrs, events.keys)

    def structure_bytes(self) -> int:
        """Access predicates, clusters, chances."""
        a, k = self.access, self.clusters
        own = (self.schemas, self.arity, self.chance, self.seen, self.found)
        return sum(array.nbytes for array in (*a, *k, *own))

    def details(self) -> dict[str, Any]:
        """Access predicates, clusters and the schemas in use."""
        names, a, k = self.stage.dictionary.names, self.access, self.clusters
        live = [[names[i] for i in row if i >= 0] for row, n in zip(self.schemas, self.arity, strict=True) if n]
        return {
            "access predicates": int(a.counts[MADE] - a.counts[FREE]) - 1,
            "clusters": int(k.counts[MADE] - k.counts[FREE]),
            "conjunctions without access predicate": int(a.rows[ALWAYS]),
            "schemas": live,
            "prefetch": self.prefetch,
        }

    def _equality_attributes(self, predicates: Int32Array) -> Int32Array:
        p = self.stage.registry.columns
        equal = (p.op[predicates] == IN) & (p.lo[predicates] == p.hi[predicates])
        return p.attr[predicates[equal]]

    def _lengthen(self, cells: int) -> None:
        a, k = self.access, self.clusters
        if a.counts[MADE] - a.counts[FREE] >= len(a.table):
            length = 2 * len(a.table)
            keys = np.full((length, WIDEST), -1, np.int32)
            keys[: len(a.keys)] = a.keys
            table, rows, head = (extended(column, length, 0) for column in (a.table, a.rows, a.head))
            chance, stack = extended(a.chance, length, 0), extended(a.stack, length, 0)
            a = a._replace(table=table, keys=keys, chance=chance, rows=rows, head=head, stack=stack)
        self.access = a._replace(slots=with_room(a.slots))
        if k.counts[MADE] - k.counts[FREE] >= len(k.start):
            length = 2 * len(k.start)
            names = ("start", "block", "room", "size", "width", "after", "entry", "stack")
            longer: dict[str, Any] = {name: extended(getattr(k, name), length, 0) for name in names}
            k = k._replace(**longer)
        if not self._roomy(k, cells):
            pool = enlarged(k.pool, 4 * cells * (1 + int(k.size.max(initial=0))))
            k = k._replace(pool=pool, cells=extended(k.cells, pool.capacity, 0))
        self.clusters = k

    def _roomy(self, k: Clusters, cells: int) -> bool:
        """Whether the next conjunction finds a block, however large its cluster is."""
        return bool(k.pool.capacity - k.pool.top[0] >= 4 * cells * (1 + int(k.size.max(initial=0))))


@leaf
def combinations(w: Work, schema: Int32Array, arity: int) -> int:
    """How many access predicates with the schema's attributes the event could satisfy: its values' combinations."""
    count = 1
    for j in range(arity):
        attribute = schema[j]
        present = w.present[attribute] == w.counts[SERIAL]
        count *= w.last[attribute] - w.first[attribute] if present else 0
    return count


@leaf
def probe(
    a: Access, w: Work, schema: Int32Array, arity: int, keys: Int32Array, at: Int32Array, hits: Int32Array, h: int
) -> int:
    """Append to hits[:h], which has room, the entries of one table that the event satisfies; returns the new h.

    Every combination of the event's values is looked up (there is one); keys, at: scratch int32[WIDEST].
    """
    for j in range(arity):
        at[j] = w.first[schema[j]]
    keys[:] = -1
    while True:
        for j in range(arity):
            keys[j] = w.equal[at[j]]
        entry = find_entry(a, keys)
        if entry >= 0:
            hits[h] = entry
            h += 1
        j = arity - 1
        while j >= 0:
            at[j] += 1
            if at[j] < w.last[schema[j]]:
                break
            at[j] = w.first[schema[j]]
            j -= 1
        if j < 0:
            return h


@leaf
def foresee(
    a: Access,
    w: Work,
    schemas: Int32Array,
    arity: Int32Array,
    keys: Int32Array,
    slots: Int64Array,
    possible: Int64Array,
) -> None:
    """Ask for what `probe` will read of every table, all at once: hash slots first, then the entries they name.

    slots, possible int64 by table are written: the slot of the event's first combination of values, and how many there are.
    """
    for t in range(1, len(arity)):
        possible[t] = combinations(w, schemas[t], arity[t]) if arity[t] > 0 else 0
        if possible[t] > 0:
            keys[:] = -1
            for j in range(arity[t]):
                keys[j] = w.equal[w.first[schemas[t, j]]]
            slots[t] = first_slot(a.slots, keys_hash(keys))
            prefetch(a.slots.items, slots[t])
            prefetch(a.slots.hashes, slots[t])
    for t in range(1, len(arity)):
        if possible[t] > 0:
            entry = a.slots.items[slots[t]]
            if entry >= 0:
                prefetch(a.keys[entry], 0)
                prefetch(a.head, entry)
                prefetch(a.rows, entry)


@leaf
def foresee_clusters(a: Access, k: Clusters, hits: Int32Array, h: int) -> None:
    """Ask for what is known of the first cluster of each entry in hits[:h]."""
    for i in range(h):
        cluster = a.head[hits[i]]
        if cluster >= 0:
            prefetch(k.start, cluster)
            prefetch(k.room, cluster)
            prefetch(k.size, cluster)
            prefetch(k.width, cluster)


@leaf
def foresee_cells(a: Access, k: Clusters, entry: int) -> None:
    """Ask for the beginning of the first column of an entry's first cluster."""
    cluster = a.head[entry]
    if cluster >= 0:
        for row in range(0, min(k.size[cluster], LOOKAHEAD), UNFOLD):
            prefetch(k.cells, k.start[cluster] + row)


@kernel
def match_clusters(
    x: Indexes,
    w: Work,
    a: Access,
    k: Clusters,
    schemas: Int32Array,
    arity: Int32Array,
    c: Conjunctions,
    s: Stamps,
    found: Int32Array,
    seen: NDArray[np.float64],
    ahead: bool,
    offsets: Int64Array,
    attrs: Int32Array,
    keys: Int64Array,
) -> tuple[Int64Array, Int32Array, int]:
    """Both stages for a batch; returns (match offsets, owners, candidates).

    Adds one to seen (float64 by predicate id, or empty) for each satisfied equality predicate. With `ahead`, everything is asked
    for before it is read: the tables' slots and entries, the heads of clusters, the cells of column 0 two entries ahead, and what
    other columns have for its survivors, all of which are sieved out before any is tested further.
    """
    out, out_offsets, m, candidates = np.empty(1024, np.int32), np.zeros(len(offsets), np.int64), 0, 0
    hits, trial, at = np.empty(256, np.int32), np.empty(WIDEST, np.int32), np.empty(WIDEST, np.int32)
    slots, possible = np.zeros(len(arity), np.int64), np.zeros(len(arity), np.int64)
    rows, of = np.empty(4 * SIEVED, np.int64), np.empty(4 * SIEVED, np.int32)
    for e in range(len(offsets) - 1):
        s.serial[0] += 1
        n = satisfy(x, w, attrs, keys, offsets[e], offsets[e + 1])
        equal = w.counts[EQUALITIES]
        hits = grown(hits, equal + 1)
        hits[0], h = ALWAYS, 1
        for i in range(equal):
            p = w.equal[i]
            if len(seen) > 0:
                seen[p] += 1.0
            if a.single[p] >= 0:
                hits[h] = a.single[p]
                h += 1
        if ahead:
            foresee(a, w, schemas, arity, trial, slots, possible)
        for t in range(1, len(arity)):
            many = possible[t] if ahead else combinations(w, schemas[t], arity[t]) if arity[t] > 0 else 0
            if many > 0:
                hits = grown(hits, h + many)
                h = probe(a, w, schemas[t], arity[t], trial, at, hits, h)
        if ahead:
            foresee_clusters(a, k, hits, h)
            for i in range(min(h, 2)):
                foresee_cells(a, k, hits[i])
        f = 0
        if ahead:
            survivors = 0
            for i in range(h):
                if i + 2 < h:
                    foresee_cells(a, k, hits[i + 2])
                candidates += a.rows[hits[i]]
                survivors, f = sieve_entry(a, k, hits[i], w.bits, rows, of, survivors, found, f)
            f = sift(k, w.bits, rows, of, survivors, found, f)
        else:
            for i in range(h):
                candidates += a.rows[hits[i]]
                f = check_entry(a, k, hits[i], w.bits, found, f)
        out = grown(out, m + f)
        m = emit(c, s, out, m, found, f)
        clear(w, n)
        out_offsets[e + 1] = m
    return out_offsets, out[:m].copy(), candidates
