"""Shared predicates: equal ones are stored once, counted by reference, and their ids are used again.

A new id is made only when no free one is left, so vectors indexed by predicate id have no holes. The hash table that finds
equal predicates doubles as the equality index of stage one: `find` with IN [key, key].
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import extended
from tamis.arrays.jit import leaf
from tamis.arrays.pool import Pool, enlarged, fits, give, new_pool, size_class, take
from tamis.arrays.slots import Slots, drop, first_slot, has_room, mix, new_slots, put, with_room
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import FIRST_SET, SubscriptionTable

MADE, FREE = 0, 1  # cells of `counts`


class Predicates(NamedTuple):
    """Columns by predicate id: attr int32, op uint8, lo/hi int64 (of set codes: a slice of `sets`), refs int32 (0: free).

    `slots` finds ids by hash; `stack` int32 holds free ids; `counts` int64[2] is (ids made, ids free); `sets` int64 lies
    in blocks of `pool`.
    """

    attr: Int32Array
    op: NDArray[np.uint8]
    lo: Int64Array
    hi: Int64Array
    refs: Int32Array
    stack: Int32Array
    counts: Int64Array
    slots: Slots
    sets: Int64Array
    pool: Pool


class Registry:
    """Owns the columns and lets them grow; the work is done by kernels over `columns`."""

    def __init__(self) -> None:
        pool = new_pool()
        self.columns = Predicates(
            attr=np.zeros(0, np.int32),
            op=np.zeros(0, np.uint8),
            lo=np.zeros(0, np.int64),
            hi=np.zeros(0, np.int64),
            refs=np.zeros(0, np.int32),
            stack=np.zeros(0, np.int32),
            counts=np.zeros(2, np.int64),
            slots=new_slots(),
            sets=np.zeros(pool.capacity, np.int64),
            pool=pool,
        )

    def __len__(self) -> int:
        """Predicates in use."""
        return int(self.columns.counts[MADE] - self.columns.counts[FREE])

    @property
    def made(self) -> int:
        """Ids made so far: every id in use is below."""
        return int(self.columns.counts[MADE])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        c = self.columns
        own = (c.attr, c.op, c.lo, c.hi, c.refs, c.stack, c.counts, c.sets)
        return sum(array.nbytes for array in own) + c.slots.nbytes + c.pool.nbytes

    def acquire(self, table: SubscriptionTable) -> tuple[Int64Array, Int32Array, Int32Array]:
        """One reference for each distinct predicate of each conjunction: (offsets, ids, ids that are new)."""
        offsets = np.zeros(len(table) + 1, np.int64)
        ids, fresh = np.empty(len(table.attrs), np.int32), np.empty(len(table.attrs), np.int32)
        done, new = 0, 0
        while done < len(table):
            self._reserve(table, done)
            given = (table.offsets, table.attrs, table.ops, table.lo, table.hi, table.sets)
            done, new = acquire(self.columns, *given, done, offsets, ids, fresh, new)
        return offsets, ids[: offsets[-1]].copy(), fresh[:new].copy()

    def release(self, ids: Int32Array) -> Int32Array:
        """Give references back; returns the ids nobody uses any more, whose columns stay readable until the next acquire."""
        freed = np.empty(len(ids), np.int32)
        return freed[: release(self.columns, ids, freed)].copy()

    def _reserve(self, table: SubscriptionTable, conjunction: int) -> None:
        first, last = table.offsets[conjunction], table.offsets[conjunction + 1]
        sets = table.ops[first:last] >= FIRST_SET
        members = int((table.hi[first:last] - table.lo[first:last])[sets].sum())
        c, count = self.columns, int(last - first)
        length = len(self) + count
        names = ("attr", "op", "lo", "hi", "refs", "stack")
        longer = {name: extended(getattr(c, name), length, 0) for name in names}
        pool = c.pool
        if pool.capacity - pool.top[0] < 2 * members + 4 * count:
            pool = enlarged(pool, 2 * members + 4 * count)
        slots = with_room(c.slots, count)
        self.columns = c._replace(**longer, slots=slots, pool=pool, sets=extended(c.sets, pool.capacity, 0))


@leaf
def predicate_hash(attr: int, op: int, lo: int, hi: int, sets: Int64Array) -> int:
    """A hash of what a predicate says."""
    h = mix(0, (attr << 4) | op)
    if op < FIRST_SET:
        return mix(mix(h, lo), hi)
    for i in range(lo, hi):
        h = mix(h, sets[i])
    return h


@leaf
def find(c: Predicates, attr: int, op: int, lo: int, hi: int, sets: Int64Array, h: int) -> int:
    """The id of a predicate given by its parts and hash, or -1; `sets` holds the members its bounds speak of."""
    slot = first_slot(c.slots, h)
    mask = len(c.slots.items) - 1
    while c.slots.items[slot] >= 0:
        p = c.slots.items[slot]
        if c.slots.hashes[slot] == h and c.attr[p] == attr and c.op[p] == op:
            if op < FIRST_SET:
                if c.lo[p] == lo and c.hi[p] == hi:
                    return int(p)
            elif c.hi[p] - c.lo[p] == hi - lo:
                same = True
                for i in range(hi - lo):
                    if c.sets[c.lo[p] + i] != sets[lo + i]:
                        same = False
                        break
                if same:
                    return int(p)
        slot = (slot + 1) & mask
    return -1


@leaf
def acquire(
    c: Predicates,
    offsets: Int64Array,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    los: Int64Array,
    his: Int64Array,
    sets: Int64Array,
    start: int,
    out_offsets: Int64Array,
    out: Int32Array,
    fresh: Int32Array,
    new: int,
) -> tuple[int, int]:
    """Count references for the conjunctions from `start` on, until one might not fit the arrays.

    Writes the distinct ids of conjunction k to out[out_offsets[k]:out_offsets[k+1]] and new ids to fresh[new:];
    returns (the conjunction to go on with, the number of new ids). Mutates the columns.
    """
    for k in range(start, len(offsets) - 1):
        count = offsets[k + 1] - offsets[k]
        if not has_room(c.slots, count) or c.counts[MADE] - c.counts[FREE] + count > len(c.attr):
            return k, new
        n = out_offsets[k]
        for i in range(offsets[k], offsets[k + 1]):
            attr, op, lo, hi = attrs[i], ops[i], los[i], his[i]
            h = predicate_hash(attr, op, lo, hi, sets)
            p = find(c, attr, op, lo, hi, sets, h)
            if p < 0:
                if op >= FIRST_SET and not fits(c.pool, size_class(hi - lo)):
                    for q in range(out_offsets[k], n):  # undone here, done again after growth
                        c.refs[out[q]] -= 1
                    return k, new
                p = make(c, attr, op, lo, hi, sets, h)
                fresh[new] = p
                new += 1
            seen = False
            for q in range(out_offsets[k], n):
                seen |= out[q] == p
            if not seen:
                out[n] = p
                n += 1
                c.refs[p] += 1
        out_offsets[k + 1] = n
    return len(offsets) - 1, new


@leaf
def make(c: Predicates, attr: int, op: int, lo: int, hi: int, sets: Int64Array, h: int) -> int:
    """A predicate under a free id, or a new one when none is free; nobody refers to it yet."""
    if c.counts[FREE] > 0:
        c.counts[FREE] -= 1
        p = int(c.stack[c.counts[FREE]])
    else:
        p = int(c.counts[MADE])
        c.counts[MADE] += 1
    c.attr[p], c.op[p], c.lo[p], c.hi[p], c.refs[p] = attr, op, lo, hi, 0
    if op >= FIRST_SET:
        base = take(c.pool, size_class(hi - lo))
        for i in range(hi - lo):
            c.sets[base + i] = sets[lo + i]
        c.lo[p], c.hi[p] = base, base + hi - lo
    put(c.slots, h, p)
    return p


@leaf
def release(c: Predicates, ids: Int32Array, freed: Int32Array) -> int:
    """Take one reference from each of `ids`; writes those left with none to `freed` and returns their number."""
    n = 0
    for p in ids:
        c.refs[p] -= 1
        if c.refs[p] == 0:
            drop(c.slots, predicate_hash(c.attr[p], c.op[p], c.lo[p], c.hi[p], c.sets), p)
            if c.op[p] >= FIRST_SET:
                give(c.pool, c.lo[p], size_class(c.hi[p] - c.lo[p]))
            c.stack[c.counts[FREE]] = p
            c.counts[FREE] += 1
            freed[n] = p
            n += 1
    return n
