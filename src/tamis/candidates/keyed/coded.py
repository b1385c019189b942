"""Conjunctions in rank codes, in the normal form that keys are chosen from and clusters are written from."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel, leaf
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, Int32Array, Int64Array
from tamis.encoding.subscriptions import (
    ALL,
    ALL_SET,
    IN,
    IN_SET,
    MISSING,
    NONE,
    NONE_SET,
    OUT,
    OUT_SET,
    SubscriptionTable,
)
from tamis.predicates.ranks import Codes, Ranks

BETWEEN = 9  # some number x >= lo, and some number x <= hi: for a single value, x in [lo, hi]


class Coded(NamedTuple):
    """Conjunction i belongs to owners[i] and has predicates offsets[i]:offsets[i+1]; `shared[i]`: its owner has others.

    owners int32[c], shared bool[c], offsets int64[c+1]; slots int32[p], ops uint8[p], lo/hi int32[p]: codes, or for set
    codes the number of the set in `lo`. MISSING has lo = hi = 0, the code of an absent attribute.
    """

    owners: Int32Array
    shared: NDArray[np.bool_]
    offsets: Int64Array
    slots: Int32Array
    ops: NDArray[np.uint8]
    lo: Int32Array
    hi: Int32Array


def code_table(table: SubscriptionTable, ranks: Ranks, codes: Codes) -> Coded:
    """The conjunctions of a table that can hold at all."""
    columns = (table.owners, table.offsets, table.attrs, table.ops, table.lo, table.hi)
    owners, offsets, slots, ops, lo, hi = normalise(*columns, ranks.slots, ranks.starts, codes.lo, codes.hi)
    counts = np.bincount(owners) if len(owners) else np.zeros(0, np.int64)
    return Coded(owners, counts[owners] > 1, offsets, slots, ops, lo, hi)


@leaf
def unsatisfiable(op: int, lo: int, hi: int) -> bool:
    """Whether a predicate asks for a value of an empty interval or set."""
    if op == IN_SET or op == ALL_SET:
        return lo >= hi
    return (op == IN or op == ALL) and lo > hi


@leaf
def vacuous(op: int, lo: int, hi: int) -> bool:
    """Whether a predicate asks for values outside an empty interval or set, that is, only for presence."""
    if op == OUT or op == NONE:
        return lo > hi
    return (op == OUT_SET or op == NONE_SET) and lo >= hi


@leaf
def mate(first: int, p: int, attrs: Int32Array, ops: NDArray[np.uint8], lo: Int64Array, hi: Int64Array) -> int:
    """Of the predicates first:p the one that bounds the same attribute's numbers from the other side, or -1."""
    if ops[p] != IN or (lo[p] == NUMBER_MIN) == (hi[p] == NUMBER_MAX):
        return -1
    for q in range(first, p):
        if attrs[q] == attrs[p] and ops[q] == IN:
            if lo[p] == NUMBER_MIN and hi[q] == NUMBER_MAX and lo[q] != NUMBER_MIN:
                return q
            if hi[p] == NUMBER_MAX and lo[q] == NUMBER_MIN and hi[q] != NUMBER_MAX:
                return q
    return -1


@kernel
def normalise(
    owners: Int32Array,
    offsets: Int64Array,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    slots: Int32Array,
    bound_starts: Int64Array,
    lo_codes: Int32Array,
    hi_codes: Int32Array,
) -> tuple[Int32Array, Int64Array, Int32Array, NDArray[np.uint8], Int32Array, Int32Array]:
    """Drop conjunctions that cannot hold, merge a lower and an upper bound, turn what always holds into presence.

    Returns owners, offsets, slots, ops, lo, hi as in `Coded`; mutates nothing given.
    """
    out_owners, out_offsets = np.empty(len(owners), np.int32), np.zeros(len(owners) + 1, np.int64)
    out_slots, out_ops = np.empty(len(attrs), np.int32), np.empty(len(attrs), np.uint8)
    out_lo, out_hi = np.empty(len(attrs), np.int32), np.empty(len(attrs), np.int32)
    written = np.empty(len(attrs), np.int32)  # where a predicate went
    rows, n = 0, 0
    for c in range(len(owners)):
        first, last = offsets[c], offsets[c + 1]
        holds = True
        for p in range(first, last):
            if unsatisfiable(ops[p], lo[p], hi[p]):
                holds = False
        if not holds:
            continue
        for p in range(first, last):
            other = mate(first, p, attrs, ops, lo, hi)
            if other >= 0 and out_ops[written[other]] == IN:
                at = written[other]
                written[p] = at
                out_ops[at] = BETWEEN
                if lo[p] == NUMBER_MIN:
                    out_hi[at] = hi_codes[p]
                else:
                    out_lo[at] = lo_codes[p]
                continue
            slot = slots[attrs[p]]
            written[p] = n
            out_slots[n], out_ops[n], out_lo[n], out_hi[n] = slot, ops[p], lo_codes[p], hi_codes[p]
            if ops[p] == MISSING:
                out_lo[n], out_hi[n] = 0, 0
            elif vacuous(ops[p], lo[p], hi[p]):
                out_ops[n], out_lo[n], out_hi[n] = IN, 1, bound_starts[slot + 1] - bound_starts[slot] + 1
            n += 1
        out_owners[rows] = owners[c]
        rows += 1
        out_offsets[rows] = n
    return (
        out_owners[:rows].copy(),
        out_offsets[: rows + 1].copy(),
        out_slots[:n].copy(),
        out_ops[:n].copy(),
        out_lo[:n].copy(),
        out_hi[:n].copy(),
    )
