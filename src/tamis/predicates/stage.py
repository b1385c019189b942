"""Stage one as a whole: from an event to the set of predicates it satisfies, by the index chosen for each attribute.

    index = "table"    predicate tables for attributes with a finite domain, sorted rows for what has no cell
    index = "list"     ordered rows searched linearly
    index = "sorted"   equality by hash, inequalities by halving in sorted rows

The result is the predicate bit vector, with a list of what was set so that clearing costs no more than setting did.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import extended
from tamis.arrays.jit import kernel, leaf
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import IN, SubscriptionTable
from tamis.model.schema import EnumDomain, IntDomain, PlainDomain
from tamis.predicates.holds import predicate_holds
from tamis.predicates.registry import Predicates, Registry, find, predicate_hash
from tamis.predicates.rows import (
    ABSENT_ROW,
    BETWEEN,
    EQUAL,
    KINDS,
    LOWER,
    OTHER,
    UPPER,
    Rows,
    SortedRows,
    bound_of,
    first_at_least,
    first_at_least_linear,
    kind_of,
    row_of,
)
from tamis.predicates.table import (
    Domain,
    Tables,
    cell_of,
    lay_out,
    nbytes,
    number_of,
    operator_of,
    slices,
    whole,
    write_cell,
)

INDEXES = ("table", "list", "sorted")
DECLARED_WIDTH = 1 << 20  # a declared domain wider than this is not worth a table
SEEN_WIDTH = 1 << 16  # the same for a range of constants seen
SATISFIED, EQUALITIES, SERIAL, TESTED = 0, 1, 2, 3  # cells of Work.counts


class Indexes(NamedTuple):
    """What `satisfy` reads. `linear`: rows are searched step by step, equality included."""

    predicates: Predicates
    rows: Rows
    tables: Tables
    linear: bool


class Work(NamedTuple):
    """What `satisfy` writes, kept from event to event.

    bits uint64[ids / 64]: the predicate bit vector; satisfied int32[ids]: what is set in it; equal int32[pairs]: the
    satisfied equality predicates, those of attribute a at first[a]:last[a] if present[a] is the current serial
    number (first/last int32, present int64 by attribute); counts int64[4]; parts int64[14]: scratch.
    """

    bits: NDArray[np.uint64]
    satisfied: Int32Array
    equal: Int32Array
    first: Int32Array
    last: Int32Array
    present: Int64Array
    counts: Int64Array
    parts: Int64Array


class Stage:
    """The predicates of an engine and their indexes."""

    def __init__(self, index: str, dictionary: Dictionary) -> None:
        self.index, self.dictionary = index, dictionary
        self.registry, self.rows = Registry(), SortedRows()
        self.domains: list[Domain | None] = []
        self.tables = lay_out([])
        self.ranges_seen: set[int] = set()
        zeros = np.zeros(0, np.int32)
        self.work = Work(
            np.zeros(0, np.uint64),
            zeros,
            zeros,
            zeros,
            zeros,
            np.zeros(0, np.int64),
            np.zeros(4, np.int64),
            np.zeros(14, np.int64),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of registry, indexes and bit vector."""
        return self.registry.nbytes + self.rows.nbytes + nbytes(self.tables) + sum(a.nbytes for a in self.work)

    def acquire(self, table: SubscriptionTable) -> tuple[Int64Array, Int32Array, Int32Array]:
        """Register and index a table's predicates: CSR of the distinct ids of each conjunction, and the ids new among them."""
        offsets, ids, fresh = self.registry.acquire(table)
        self.rows.reach(len(self.dictionary))
        if self.index == "table" and self._widen(fresh):
            self.tables, self.rows = lay_out(self.domains), SortedRows()
            self.rows.reach(len(self.dictionary))
            self._place(np.flatnonzero(self.registry.columns.refs).astype(np.int32))
        else:
            self._place(fresh)
        self._reach()
        return offsets, ids, fresh

    def release(self, ids: Int32Array) -> Int32Array:
        """Give references back and forget the predicates left without; returns their ids."""
        freed = self.registry.release(ids)
        rows = withdraw(self.registry.columns, self.tables, freed, self.index == "list")
        self.rows.remove(rows[rows >= 0], self.registry.columns.refs)
        return freed

    def indexes(self) -> Indexes:
        """The current state, for kernels."""
        return Indexes(self.registry.columns, self.rows.rows, self.tables, self.index == "list")

    def prepare(self, events: EventBatch) -> Work:
        """Scratch with room for every event of the batch."""
        longest = int(np.diff(events.offsets).max(initial=0))
        self.work = self.work._replace(equal=extended(self.work.equal, longest, 0))
        return self.work

    def count(self, events: EventBatch) -> int:
        """Stage one alone over a batch: the number of predicates satisfied, summed over its events."""
        return count_satisfied(self.indexes(), self.prepare(events), events.offsets, events.attrs, events.keys)

    def frequencies(self, events: EventBatch) -> Int64Array:
        """By predicate id, the number of the batch's events that satisfy it."""
        seen = np.zeros(max(1, self.registry.made), np.int64)
        tally(self.indexes(), self.prepare(events), events.offsets, events.attrs, events.keys, seen)
        return seen

    def details(self) -> dict[str, Any]:
        """What `stats` tells of stage one."""
        return {
            "index": self.index,
            "predicates": len(self.registry),
            "predicates tested": int(self.work.counts[TESTED]),
            "attributes with a table": int((self.tables.base >= 0).sum()),
            "tables over a range seen, not declared": len(self.ranges_seen),
        }

    def _place(self, ids: Int32Array) -> None:
        rows, bounds = place(self.registry.columns, self.tables, ids, self.index == "list")
        wanted = rows >= 0
        self.rows.insert(rows[wanted], bounds[wanted], ids[wanted])

    def _reach(self) -> None:
        w, made, attributes = self.work, self.registry.made, len(self.dictionary)
        self.work = w._replace(
            bits=extended(w.bits, (made >> 6) + 1, 0),
            satisfied=extended(w.satisfied, made, 0),
            first=extended(w.first, attributes, 0),
            last=extended(w.last, attributes, 0),
            present=extended(w.present, attributes, 0),
        )

    def _widen(self, fresh: Int32Array) -> bool:
        """Give tables to the attributes of new predicates where a domain allows; whether any table changed."""
        known = len(self.domains)
        self.domains += [self._declared(a) for a in range(known, len(self.dictionary))]
        changed = any(self.domains[known:])
        lows, highs = constants(self.registry.columns, fresh, len(self.domains))
        for a in np.flatnonzero(lows <= highs).tolist():
            domain, low, high = self.domains[a], int(lows[a]), int(highs[a])
            if domain is not None:
                end = domain.low + domain.width
                if a not in self.ranges_seen or (domain.low <= low and high < end):
                    continue
                low = domain.low if low >= domain.low else low - domain.width  # as much again: few rebuilds
                high = end - 1 if high < end else high + domain.width
            if high - low < SEEN_WIDTH:
                self.domains[a] = Domain(low, high - low + 1)
                self.ranges_seen.add(a)
                changed = True
        return changed

    def _declared(self, attribute: int) -> Domain | None:
        domain = self.dictionary.domain(attribute)
        if isinstance(domain, IntDomain) and domain.hi - domain.lo < DECLARED_WIDTH:
            return Domain(domain.lo, domain.hi - domain.lo + 1)
        if isinstance(domain, EnumDomain):
            return ranked(self.dictionary.constant(value) for value in domain.values)
        if isinstance(domain, PlainDomain) and domain.name == "bool":
            return ranked(self.dictionary.constant(value) for value in (False, True))
        return None


def ranked(keys: Iterable[int]) -> Domain:
    """The domain of the given keys."""
    ascending = np.array(sorted(keys), np.int64)
    return Domain(0, len(ascending), ascending)


@kernel
def constants(c: Predicates, ids: Int32Array, attributes: int) -> tuple[Int64Array, Int64Array]:
    """Least and greatest whole-number constant of each attribute among the predicates given (least > greatest: none)."""
    lows, highs = np.full(attributes, 1 << 62, np.int64), np.full(attributes, -(1 << 62), np.int64)
    for p in ids:
        operator, key = operator_of(c.op[p], c.lo[p], c.hi[p])
        if operator >= 0 and whole(key):
            value, a = np.int64(number_of(key)), c.attr[p]
            lows[a], highs[a] = min(lows[a], value), max(highs[a], value)
    return lows, highs


@kernel
def place(c: Predicates, t: Tables, ids: Int32Array, linear: bool) -> tuple[Int64Array, Int64Array]:
    """Write the predicates that have a cell into the tables; for the others their row and bound (-1: the hash suffices)."""
    rows, bounds = np.full(len(ids), -1, np.int64), np.zeros(len(ids), np.int64)
    for i in range(len(ids)):
        p = ids[i]
        a, op, lo, hi = c.attr[p], c.op[p], c.lo[p], c.hi[p]
        cell = cell_of(t, a, op, lo, hi)
        if cell >= 0:
            write_cell(t, a, cell, p)
        elif linear or kind_of(op, lo, hi) != EQUAL or (a < len(t.base) and t.base[a] >= 0):
            rows[i], bounds[i] = row_of(a, op, lo, hi), bound_of(op, lo, hi)
    return rows, bounds


@kernel
def withdraw(c: Predicates, t: Tables, ids: Int32Array, linear: bool) -> Int64Array:
    """Take predicates out of the tables; returns the rows of those that are in one (else -1)."""
    rows = np.full(len(ids), -1, np.int64)
    for i in range(len(ids)):
        p = ids[i]
        a, op, lo, hi = c.attr[p], c.op[p], c.lo[p], c.hi[p]
        cell = cell_of(t, a, op, lo, hi)
        if cell >= 0:
            write_cell(t, a, cell, -1)
        elif linear or kind_of(op, lo, hi) != EQUAL or (a < len(t.base) and t.base[a] >= 0):
            rows[i] = row_of(a, op, lo, hi)
    return rows


@leaf
def mark(w: Work, n: int, p: int) -> int:
    """Set predicate p if it is not; n and the new n count the predicates set."""
    flag = np.uint64(1) << np.uint64(p & 63)
    if w.bits[p >> 6] & flag == 0:
        w.bits[p >> 6] |= flag
        w.satisfied[n] = p
        return n + 1
    return n


@leaf
def satisfy(x: Indexes, w: Work, attrs: Int32Array, keys: Int64Array, begin: int, end: int) -> int:
    """Find the predicates that the event with pairs begin:end satisfies; returns how many.

    They are set in `w.bits` (clear before) and listed in `w.satisfied`; satisfied equalities also in `w.equal`.
    """
    w.counts[SERIAL] += 1
    serial = w.counts[SERIAL]
    n, m, tested = 0, 0, 0
    c, r = x.predicates, x.rows
    i = begin
    while i < end:
        a, j = attrs[i], i + 1
        while j < end and attrs[j] == a:
            j += 1
        if a < len(w.present):
            w.present[a], w.first[a] = serial, m
            row = 1 + int(a) * KINDS
            for k in range(i, j):
                before, key = n, keys[k]
                in_table = a < len(x.tables.base) and x.tables.base[a] >= 0
                if in_table:
                    slices(x.tables, a, key, w.parts)
                    for cell in range(w.parts[0], w.parts[1]):
                        if x.tables.cells[cell] >= 0:
                            n = mark(w, n, x.tables.cells[cell])
                elif not x.linear:
                    h = predicate_hash(a, IN, key, key, c.sets)
                    p = find(c, a, IN, key, key, c.sets, h)
                    tested += 1
                    if p >= 0:
                        n = mark(w, n, p)
                if r.size[row + EQUAL] > 0:
                    first = r.start[row + EQUAL]
                    last = first + r.size[row + EQUAL]
                    at = first_at_least_linear(r.bounds, first, last, key)
                    tested += at - first + 1
                    if at < last and r.bounds[at] == key:
                        n = mark(w, n, r.ids[at])
                if n > before:
                    w.equal[m] = w.satisfied[n - 1]
                    m += 1
                if in_table:
                    for part in range(1, 7):
                        tested += w.parts[2 * part + 1] - w.parts[2 * part]
                        for cell in range(w.parts[2 * part], w.parts[2 * part + 1]):
                            if x.tables.cells[cell] >= 0:
                                n = mark(w, n, x.tables.cells[cell])
                n, tested = inequalities(x, w, n, tested, row, key)
            w.last[a] = m
            first = r.start[row + OTHER]
            for at in range(first, first + r.size[row + OTHER]):
                p = r.ids[at]
                if predicate_holds(c.op[p], c.lo[p], c.hi[p], c.sets, keys, i, j):
                    n = mark(w, n, p)
            tested += r.size[row + OTHER]
        i = j
    first = r.start[ABSENT_ROW]
    for at in range(first, first + r.size[ABSENT_ROW]):
        if w.present[c.attr[r.ids[at]]] != serial:
            n = mark(w, n, r.ids[at])
    w.counts[SATISFIED], w.counts[EQUALITIES] = n, m
    w.counts[TESTED] += tested + r.size[ABSENT_ROW]
    return n


@leaf
def inequalities(x: Indexes, w: Work, n: int, tested: int, row: int, key: int) -> tuple[int, int]:
    """Mark the UPPER, LOWER and BETWEEN predicates of an attribute (its first row given) that one value satisfies."""
    c, r = x.predicates, x.rows
    if r.size[row + UPPER] > 0:
        first = r.start[row + UPPER]
        last = first + r.size[row + UPPER]
        if x.linear:
            at = first_at_least_linear(r.bounds, first, last, key)
        else:
            at = first_at_least(r.bounds, first, last, key)
        if key >= c.lo[r.ids[first]]:  # all start at the least number: a boolean lies below
            for k in range(at, last):
                n = mark(w, n, r.ids[k])
        tested += last - first if x.linear else last - at
    if r.size[row + LOWER] > 0 and key <= c.hi[r.ids[r.start[row + LOWER]]]:
        first = r.start[row + LOWER]
        last = first + r.size[row + LOWER]
        k = first
        while k < last and r.bounds[k] <= key:
            n = mark(w, n, r.ids[k])
            k += 1
        tested += k - first
    first = r.start[row + BETWEEN]
    k = first
    while k < first + r.size[row + BETWEEN] and r.bounds[k] <= key:
        if key <= c.hi[r.ids[k]]:
            n = mark(w, n, r.ids[k])
        k += 1
    return n, tested + k - first


@leaf
def clear(w: Work, n: int) -> None:
    """Unset the n predicates `satisfy` set."""
    for i in range(n):
        w.bits[w.satisfied[i] >> 6] = 0


@leaf
def count_satisfied(x: Indexes, w: Work, offsets: Int64Array, attrs: Int32Array, keys: Int64Array) -> int:
    """Stage one for a whole batch; returns the number of satisfied predicates."""
    total = 0
    for e in range(len(offsets) - 1):
        n = satisfy(x, w, attrs, keys, offsets[e], offsets[e + 1])
        total += n
        clear(w, n)
    return total


@leaf
def tally(x: Indexes, w: Work, offsets: Int64Array, attrs: Int32Array, keys: Int64Array, seen: Int64Array) -> None:
    """Stage one for a whole batch, adding one to `seen` (int64 by predicate id) for each event and predicate."""
    for e in range(len(offsets) - 1):
        n = satisfy(x, w, attrs, keys, offsets[e], offsets[e + 1])
        for i in range(n):
            seen[w.satisfied[i]] += 1
        clear(w, n)
