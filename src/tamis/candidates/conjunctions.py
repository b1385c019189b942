"""The conjunctions of a two-stage engine: owner and predicate ids of each, under dense ids that are used again.

Deleting a subscription needs the way back from it to its conjunctions and from those to their predicates; both are here,
so that the structures of stage two keep only what matching reads.
"""

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.buffer import extended
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.pool import Pool, enlarged, fits, give, new_pool, size_class, take
from tamis.encoding.keys import Int32Array, Int64Array

MADE, FREE = 0, 1  # cells of `counts`


class Conjunctions(NamedTuple):
    """Columns by conjunction: owner int32 (-1: free), start int64 and size int32 of its predicate ids in `cells` (int32
    blocks of `pool`), after int32: the owner's next conjunction or -1.

    head int32 by owner: its first conjunction or -1; stack int32: free ids; counts int64[2]: (ids made, ids free).
    """

    owner: Int32Array
    start: Int64Array
    size: Int32Array
    after: Int32Array
    head: Int32Array
    stack: Int32Array
    counts: Int64Array
    cells: Int32Array
    pool: Pool


class ConjunctionStore:
    """Owns the columns and lets them grow."""

    def __init__(self) -> None:
        pool = new_pool()
        self.columns = Conjunctions(
            owner=np.zeros(0, np.int32),
            start=np.zeros(0, np.int64),
            size=np.zeros(0, np.int32),
            after=np.zeros(0, np.int32),
            head=np.zeros(0, np.int32),
            stack=np.zeros(0, np.int32),
            counts=np.zeros(2, np.int64),
            cells=np.zeros(pool.capacity, np.int32),
            pool=pool,
        )

    def __len__(self) -> int:
        """Conjunctions held."""
        return int(self.columns.counts[MADE] - self.columns.counts[FREE])

    @property
    def made(self) -> int:
        """Ids made so far: every id in use is below."""
        return int(self.columns.counts[MADE])

    @property
    def subscriptions(self) -> int:
        """Owners that have a conjunction."""
        return int((self.columns.head >= 0).sum())

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.columns[:-1]) + self.columns.pool.nbytes

    def add(self, owners: Int32Array, offsets: Int64Array, predicates: Int32Array) -> Int32Array:
        """Store conjunctions given as CSR of predicate ids; returns their ids."""
        c, length = self.columns, len(self) + len(owners)
        names = ("owner", "start", "size", "after", "stack")
        longer: dict[str, Any] = {name: extended(getattr(c, name), length, 0) for name in names}
        head = extended(c.head, int(owners.max(initial=-1)) + 1, -1)
        self.columns = c._replace(**longer, head=head)
        ids, done = np.empty(len(owners), np.int32), 0
        while True:
            done = store(self.columns, owners, offsets, predicates, ids, done)
            if done == len(owners):
                return ids
            pool = enlarged(self.columns.pool, 2 * int(offsets[done + 1] - offsets[done]))
            cells = extended(self.columns.cells, pool.capacity, 0)
            self.columns = self.columns._replace(pool=pool, cells=cells)

    def of(self, owners: Int32Array) -> Int32Array:
        """All conjunctions of the given owners; unknown and repeated ones count for nothing."""
        return of_owners(self.columns, np.unique(owners))

    def predicates(self, ids: Int32Array) -> Int32Array:
        """The predicate ids of the given conjunctions, one after the other."""
        return flatten(self.columns, ids)

    def forget(self, ids: Int32Array, owners: Int32Array) -> None:
        """Free conjunctions: all those of `owners`."""
        forget(self.columns, ids, np.unique(owners))


@leaf
def store(
    c: Conjunctions, owners: Int32Array, offsets: Int64Array, predicates: Int32Array, ids: Int32Array, start: int
) -> int:
    """Store conjunctions start: under free ids, written to `ids`, until the cells are full; returns the one to go on with."""
    for k in range(start, len(owners)):
        n = offsets[k + 1] - offsets[k]
        block = size_class(n)
        if not fits(c.pool, block):
            return k
        if c.counts[FREE] > 0:
            c.counts[FREE] -= 1
            i = np.int64(c.stack[c.counts[FREE]])
        else:
            i = c.counts[MADE]
            c.counts[MADE] += 1
        owner = owners[k]
        base = take(c.pool, block)
        c.owner[i], c.start[i], c.size[i], c.after[i] = owner, base, n, c.head[owner]
        c.head[owner] = i
        for j in range(n):
            c.cells[base + j] = predicates[offsets[k] + j]
        ids[k] = i
    return len(owners)


@kernel
def of_owners(c: Conjunctions, owners: Int32Array) -> Int32Array:
    """The conjunctions of the owners, in the owners' order."""
    n = 0
    for owner in owners:
        if 0 <= owner < len(c.head):
            i = c.head[owner]
            while i >= 0:
                n += 1
                i = c.after[i]
    ids, n = np.empty(n, np.int32), 0
    for owner in owners:
        if 0 <= owner < len(c.head):
            i = c.head[owner]
            while i >= 0:
                ids[n] = i
                n += 1
                i = c.after[i]
    return ids


@kernel
def flatten(c: Conjunctions, ids: Int32Array) -> Int32Array:
    """The predicate ids of conjunctions, one after the other."""
    n = 0
    for i in ids:
        n += c.size[i]
    out, n = np.empty(n, np.int32), 0
    for i in ids:
        for j in range(c.start[i], c.start[i] + c.size[i]):
            out[n] = c.cells[j]
            n += 1
    return out


@leaf
def forget(c: Conjunctions, ids: Int32Array, owners: Int32Array) -> None:
    """Free the conjunctions `ids`, which are all those of `owners`."""
    for i in ids:
        give(c.pool, c.start[i], size_class(c.size[i]))
        c.owner[i] = -1
        c.stack[c.counts[FREE]] = i
        c.counts[FREE] += 1
    for owner in owners:
        if 0 <= owner < len(c.head):
            c.head[owner] = -1
