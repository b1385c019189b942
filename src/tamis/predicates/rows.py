"""Ordered rows of predicates, one per attribute and kind: the list index searched linearly, the sorted index by halving.

UPPER    a <= hi     ascending by hi: an event value v satisfies the end of the row from the first hi >= v
LOWER    a >= lo     ascending by lo: it satisfies the row up to the last lo <= v
BETWEEN  lo..hi      ascending by lo: the same part is tested for hi
EQUAL    a = key     ascending by key; used by the list index only, the sorted index asks the registry's hash table
OTHER    what an interval search does not decide (other codes, empty intervals), tested one by one
ABSENT   one row for all attributes: predicates that want their attribute missing
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import extended
from tamis.arrays.jit import leaf
from tamis.arrays.pool import Pool, enlarged, fits, give, new_pool, size_class, take
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, Int32Array, Int64Array
from tamis.encoding.subscriptions import IN, MISSING

UPPER, LOWER, BETWEEN, EQUAL, OTHER = 0, 1, 2, 3, 4
KINDS = 5
ABSENT_ROW = 0


class Rows(NamedTuple):
    """Row r is bounds/ids[start[r] : start[r] + size[r]] in a block of class block[r] (0: none yet).

    start int64, size int32, block int8, all by row; bounds int64 and ids int32 over the cells of `pool`.
    """

    start: Int64Array
    size: Int32Array
    block: NDArray[np.int8]
    bounds: Int64Array
    ids: Int32Array
    pool: Pool


class SortedRows:
    """Owns the rows and lets them grow."""

    def __init__(self) -> None:
        pool = new_pool()
        self.rows = Rows(
            start=np.zeros(1, np.int64),
            size=np.zeros(1, np.int32),
            block=np.zeros(1, np.int8),
            bounds=np.zeros(pool.capacity, np.int64),
            ids=np.zeros(pool.capacity, np.int32),
            pool=pool,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        r = self.rows
        return sum(a.nbytes for a in (r.start, r.size, r.block, r.bounds, r.ids)) + r.pool.nbytes

    def reach(self, attributes: int) -> None:
        """Have rows for attributes 0 … attributes - 1."""
        r, length = self.rows, 1 + attributes * KINDS
        self.rows = r._replace(
            start=extended(r.start, length, 0), size=extended(r.size, length, 0), block=extended(r.block, length, 0)
        )

    def insert(self, rows: Int64Array, bounds: Int64Array, ids: Int32Array) -> None:
        """Merge predicates, given with their rows and bounds in any order."""
        order = np.lexsort((bounds, rows))
        rows, bounds, ids = rows[order], bounds[order], ids[order]
        done = 0
        while True:
            done = merge(self.rows, rows, bounds, ids, done)
            if done == len(ids):
                return
            r = self.rows
            pool = enlarged(r.pool, 2 * (int(r.size[rows[done]]) + int(np.sum(rows == rows[done]))))
            cells = pool.capacity
            self.rows = r._replace(pool=pool, bounds=extended(r.bounds, cells, 0), ids=extended(r.ids, cells, 0))

    def remove(self, rows: Int64Array, refs: Int32Array) -> None:
        """Take predicates without references out of the rows given."""
        purge(self.rows, np.unique(rows), refs)


@leaf
def kind_of(op: int, lo: int, hi: int) -> int:
    """Which row a predicate belongs to, if any does (ABSENT apart)."""
    if op != IN or lo > hi:
        return OTHER
    if lo == hi:
        return EQUAL
    if lo == NUMBER_MIN and hi <= NUMBER_MAX:
        return UPPER
    if hi == NUMBER_MAX and lo >= NUMBER_MIN:
        return LOWER
    return BETWEEN


@leaf
def row_of(attr: int, op: int, lo: int, hi: int) -> int:
    """The row of a predicate."""
    return ABSENT_ROW if op == MISSING else 1 + attr * KINDS + kind_of(op, lo, hi)


@leaf
def bound_of(op: int, lo: int, hi: int) -> int:
    """What a predicate's row is ordered by."""
    kind = kind_of(op, lo, hi)
    return 0 if kind == OTHER else hi if kind == UPPER else lo


@leaf
def merge(r: Rows, rows: Int64Array, bounds: Int64Array, ids: Int32Array, start: int) -> int:
    """Merge entries start: (ascending by row, then bound) into their rows, until a row does not fit the cells.

    Returns the entry to go on with. Works from the ends of a row and of its new entries, so one insertion moves only
    what lies behind it.
    """
    i = start
    while i < len(ids):
        row = rows[i]
        j = i + 1
        while j < len(ids) and rows[j] == row:
            j += 1
        size = r.size[row] + j - i
        c = size_class(size)
        if c > r.block[row]:
            if not fits(r.pool, c):
                return i
            base = take(r.pool, c)
            for k in range(r.size[row]):
                r.bounds[base + k] = r.bounds[r.start[row] + k]
                r.ids[base + k] = r.ids[r.start[row] + k]
            if r.block[row] > 0:
                give(r.pool, r.start[row], r.block[row])
            r.start[row], r.block[row] = base, c
        old, new, at = r.start[row] + r.size[row] - 1, j - 1, r.start[row] + size - 1
        while new >= i:
            if old >= r.start[row] and r.bounds[old] > bounds[new]:
                r.bounds[at], r.ids[at] = r.bounds[old], r.ids[old]
                old -= 1
            else:
                r.bounds[at], r.ids[at] = bounds[new], ids[new]
                new -= 1
            at -= 1
        r.size[row] = size
        i = j
    return i


@leaf
def purge(r: Rows, rows: Int64Array, refs: Int32Array) -> None:
    """Drop the entries without references from the rows given; an emptied row returns its block."""
    for row in rows:
        first, n = r.start[row], 0
        for k in range(first, first + r.size[row]):
            if refs[r.ids[k]] > 0:
                r.bounds[first + n], r.ids[first + n] = r.bounds[k], r.ids[k]
                n += 1
        r.size[row] = n
        if n == 0 and r.block[row] > 0:
            give(r.pool, first, r.block[row])
            r.block[row] = 0


@leaf
def first_at_least(bounds: Int64Array, lo: int, hi: int, key: int) -> int:
    """The first position of the ascending bounds[lo:hi] not below `key`, by halving."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if bounds[middle] < key:
            lo = middle + 1
        else:
            hi = middle
    return lo


@leaf
def first_at_least_linear(bounds: Int64Array, lo: int, hi: int, key: int) -> int:
    """The same, step by step."""
    while lo < hi and bounds[lo] < key:
        lo += 1
    return lo
