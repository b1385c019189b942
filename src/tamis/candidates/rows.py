"""`Rows`: the conjunctions an engine holds while subscriptions come and go.

A conjunction keeps its row number for life, so index structures may refer to it; freed numbers are used again. Its
predicates are a slice of four parallel columns; slices of removed conjunctions are squeezed out once they are the
larger part. Everything is stored in numpy arrays that grow by half, so adding costs what it copies.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.candidates.verify import conjunction_holds
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import FIRST_SET, MISSING, SubscriptionTable

T = TypeVar("T", bound=np.generic)


class Columns(NamedTuple):
    """What kernels read. owners int32[rows] (-1: free), first/last int64[rows]: row r has predicates first[r]:last[r] of
    attrs int32[p], ops uint8[p], lo/hi int64[p]; set codes point into sets int64[s]."""

    owners: Int32Array
    first: Int64Array
    last: Int64Array
    attrs: Int32Array
    ops: NDArray[np.uint8]
    lo: Int64Array
    hi: Int64Array
    sets: Int64Array


class Rows:
    """Growing columns, the chain of rows of each owner, and what is free."""

    def __init__(self) -> None:
        short, long = np.empty(0, np.int32), np.empty(0, np.int64)
        self.columns = Columns(short, long, long, short, np.empty(0, np.uint8), long, long, long)
        self.head = self.next = self.free = short
        self.used = self.predicates = self.set_keys = self.dead = 0
        self.live = self.owners = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, spare room included."""
        return sum(a.nbytes for a in (*self.columns, self.head, self.next, self.free))

    @property
    def repeating(self) -> int:
        """0 if every subscription owns one row, so that no match can repeat; else a bound above all owners."""
        return len(self.head) if self.live > self.owners else 0

    def add(self, table: SubscriptionTable) -> Int32Array:
        """Store the conjunctions of a table; returns their row numbers, in the table's order."""
        rows = self._numbers(len(table))
        lo, hi, sets = private_sets(table.ops, table.lo, table.hi, table.sets, self.set_keys)
        size, keys = self.predicates + len(lo), self.set_keys + len(sets)
        c = self.columns
        predicates = {name: longer(getattr(c, name), size) for name in ("attrs", "ops", "lo", "hi")}
        self.columns = c = c._replace(**predicates, sets=longer(c.sets, keys))
        new = slice(self.predicates, size)
        c.attrs[new], c.ops[new], c.lo[new], c.hi[new] = table.attrs, table.ops, lo, hi
        c.sets[self.set_keys : keys] = sets
        c.owners[rows] = table.owners
        c.first[rows] = table.offsets[:-1] + self.predicates
        c.last[rows] = table.offsets[1:] + self.predicates
        self.predicates, self.set_keys = size, keys
        self.head = longer(self.head, int(table.owners.max(initial=-1)) + 1, -1)
        self.owners += chain(table.owners, rows, self.head, self.next)
        self.live += len(rows)
        return rows

    def drop(self, ids: Int32Array) -> Int32Array:
        """Forget the rows of these subscriptions and return their numbers; unknown ids are ignored.

        The predicates of the returned rows stay readable until the next `add`."""
        rows, gone = unchain(ids.astype(np.int32), self.head, self.next)
        c = self.columns
        self.live -= len(rows)
        self.owners -= gone
        self.dead += int((c.last[rows] - c.first[rows]).sum())
        c.owners[rows] = -1
        self.free = np.concatenate([self.free, rows])
        return rows

    def live_rows(self) -> Int32Array:
        """Numbers of all rows in use, ascending."""
        return np.flatnonzero(self.columns.owners[: self.used] >= 0).astype(np.int32)

    def table(self, dictionary: Dictionary) -> SubscriptionTable:
        """All conjunctions held, as a table again."""
        c = self.columns
        rows = self.live_rows()
        at, ends = slices(c.first[rows], c.last[rows])
        offsets = np.concatenate([[0], ends]).astype(np.int64)
        columns = (c.attrs[at], c.ops[at], c.lo[at], c.hi[at])
        return SubscriptionTable(c.owners[rows], offsets, *columns, c.sets[: self.set_keys], dictionary)

    def _numbers(self, count: int) -> Int32Array:
        if self.dead > max(1024, self.predicates // 2):
            self._squeeze()
        again = min(count, len(self.free))
        total = self.used + count - again
        c = self.columns
        owners, first, last = longer(c.owners, total, -1), longer(c.first, total), longer(c.last, total)
        self.columns = c._replace(owners=owners, first=first, last=last)
        self.next = longer(self.next, total)
        kept = len(self.free) - again
        rows = np.concatenate([self.free[kept:], np.arange(self.used, total, dtype=np.int32)])
        self.free, self.used = self.free[:kept], total
        return rows

    def _squeeze(self) -> None:
        c = self.columns
        rows = self.live_rows()
        at, ends = slices(c.first[rows], c.last[rows])
        lo, hi, sets = private_sets(c.ops[at], c.lo[at], c.hi[at], c.sets, 0)
        c.first[rows], c.last[rows] = ends - (c.last[rows] - c.first[rows]), ends
        self.columns = c._replace(attrs=c.attrs[at], ops=c.ops[at], lo=lo, hi=hi, sets=sets)
        self.predicates, self.set_keys, self.dead = len(at), len(sets), 0


def longer(array: NDArray[T], needed: int, fill: Any = None) -> NDArray[T]:
    """`array` if it holds `needed` items, else a copy with room to spare; `fill` is the value of the new cells."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, len(array) + len(array) // 2), array.dtype)
    larger[: len(array)] = array
    if fill is not None:
        larger[len(array) :] = fill
    return larger


def slices(first: Int64Array, last: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(positions of all slices first:last laid end to end, where each ends there)."""
    counts = last - first
    ends = np.cumsum(counts)
    return np.repeat(first - (ends - counts), counts) + np.arange(counts.sum()), ends


def private_sets(
    ops: NDArray[np.uint8], lo: Int64Array, hi: Int64Array, sets: Int64Array, base: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(lo, hi, keys): only the keys that set predicates use, and the bounds moved to where they will lie from `base`."""
    where = np.flatnonzero(ops >= FIRST_SET)
    at, ends = slices(lo[where], hi[where])
    counts = hi[where] - lo[where]
    lo, hi = lo.copy(), hi.copy()
    lo[where], hi[where] = base + ends - counts, base + ends
    return lo, hi, sets[at]


def arranged(table: SubscriptionTable, rank: Int64Array, *, absence: bool) -> tuple[SubscriptionTable, Int32Array]:
    """The table with each conjunction's predicates put in order, and how many of them lead.

    The leading predicates name each attribute once, by ascending `rank` (int64[attributes], below 2^31); with `absence`
    MISSING predicates are among them. The others follow.
    """
    row = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    trailing = np.zeros(len(row), bool) if absence else table.ops == MISSING
    order = np.argsort(row << 32 | trailing.astype(np.int64) << 31 | rank[table.attrs], kind="stable")
    attrs, trailing = table.attrs[order], trailing[order]
    trailing[1:] |= (attrs[1:] == attrs[:-1]) & (row[1:] == row[:-1])
    order = order[np.argsort(row << 1 | trailing, kind="stable")]
    columns = (table.attrs[order], table.ops[order], table.lo[order], table.hi[order])
    leading = np.bincount(row[~trailing], minlength=len(table)).astype(np.int32)
    return SubscriptionTable(table.owners, table.offsets, *columns, table.sets, table.dictionary), leading


def contradictory(table: SubscriptionTable) -> NDArray[np.bool_]:
    """Which conjunctions want some attribute both present and missing."""
    found = np.zeros(len(table), bool)
    missing = table.ops == MISSING
    if missing.any():
        row = np.repeat(np.arange(len(table)), np.diff(table.offsets))
        place = row << 32 | table.attrs
        order = np.argsort(place, kind="stable")
        place, missing = place[order], missing[order]
        found[place[1:][(place[1:] == place[:-1]) & (missing[1:] != missing[:-1])] >> 32] = True
    return found


@kernel
def chain(owners: Int32Array, rows: Int32Array, head: Int32Array, link: Int32Array) -> int:
    """Put each row first in its owner's chain (head int32[owners], link int32[rows], both mutated); returns new owners."""
    new = 0
    for i in range(len(rows)):
        if head[owners[i]] < 0:
            new += 1
        link[rows[i]] = head[owners[i]]
        head[owners[i]] = rows[i]
    return new


@kernel
def unchain(ids: Int32Array, head: Int32Array, link: Int32Array) -> tuple[Int32Array, int]:
    """Empty the chains of the given owners (head is mutated): their rows and how many owners had any."""
    rows = np.empty(len(ids), np.int32)
    n = gone = 0
    for identifier in ids:
        if 0 <= identifier < len(head) and head[identifier] >= 0:
            gone += 1
            row = head[identifier]
            head[identifier] = -1
            while row >= 0:
                rows = grown(rows, n + 1)
                rows[n] = row
                n += 1
                row = link[row]
    return rows[:n].copy(), gone


@leaf
def newly_matched(
    c: Columns,
    row: int,
    sure: bool,
    e: int,
    keys: Int64Array,
    begin: Int32Array,
    end: Int32Array,
    last_event: Int64Array,
) -> bool:
    """Whether event e, scattered into begin/end, satisfies a row (`sure`: known already) of an owner not yet reported.

    `last_event` int64[owners], mutated: the last event an owner was reported for; of length 0 when none can come twice."""
    once = len(last_event) == 0
    owner = c.owners[row]
    if not once and last_event[owner] == e:
        return False
    if not sure and not conjunction_holds(
        c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets, keys, begin, end
    ):
        return False
    if not once:
        last_event[owner] = e
    return True
