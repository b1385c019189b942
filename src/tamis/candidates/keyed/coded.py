"""Conjunctions in rank codes, in the normal form that keys are chosen from and clusters are written from."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.arrays.memory import prefetch
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
AHEAD = 12
"""Conjunctions whose memory is asked for before it is copied."""


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
    longest = int(np.diff(table.offsets).max(initial=0))
    made = blank(len(table), len(table.attrs))
    scratch = np.empty(longest, np.int32)
    rows, n = normalise(*columns, ranks.slots, ranks.starts, codes.lo, codes.hi, made, scratch)
    owners = made.owners[:rows]
    counts = np.bincount(owners) if rows else np.zeros(0, np.int64)
    predicates = (made.slots[:n], made.ops[:n], made.lo[:n], made.hi[:n])
    return Coded(owners, counts[owners] > 1, made.offsets[: rows + 1], *predicates)


def blank(conjunctions: int, predicates: int) -> Coded:
    """Room for so many."""
    owners, offsets = np.empty(conjunctions, np.int32), np.zeros(conjunctions + 1, np.int64)
    slots, ops = np.empty(predicates, np.int32), np.empty(predicates, np.uint8)
    lo, hi = np.empty(predicates, np.int32), np.empty(predicates, np.int32)
    return Coded(owners, np.empty(conjunctions, np.bool_), offsets, slots, ops, lo, hi)


def taken(coded: Coded, likely: NDArray[np.float64], rows: Int32Array) -> tuple[Coded, NDArray[np.float64]]:
    """The conjunctions `rows`, in this order, and likely float64[p] for their predicates."""
    sizes = np.diff(coded.offsets)[rows]
    made = blank(len(rows), int(sizes.sum()))
    np.cumsum(sizes, out=made.offsets[1:])
    made = made._replace(owners=coded.owners[rows], shared=coded.shared[rows])
    likely_made = np.empty(len(made.slots), np.float64)
    copy_rows(coded, likely, rows, made, likely_made)
    return made, likely_made


@leaf
def copy_rows(
    coded: Coded, likely: NDArray[np.float64], rows: Int32Array, made: Coded, likely_made: NDArray[np.float64]
) -> None:
    """Fill the predicates of `made` and likely_made from those of the rows; they lie all over memory."""
    for i in range(len(rows)):
        if i + 2 * AHEAD < len(rows):
            prefetch(coded.offsets, rows[i + 2 * AHEAD])
            next_ = coded.offsets[rows[i + AHEAD]]
            prefetch(coded.slots, next_)
            prefetch(coded.ops, next_)
            prefetch(coded.lo, next_)
            prefetch(coded.hi, next_)
            prefetch(likely, next_)
            prefetch(likely, coded.offsets[rows[i + AHEAD] + 1] - 1)
        p = coded.offsets[rows[i]]
        for q in range(made.offsets[i], made.offsets[i + 1]):
            made.slots[q], made.ops[q], made.lo[q], made.hi[q] = coded.slots[p], coded.ops[p], coded.lo[p], coded.hi[p]
            likely_made[q] = likely[p]
            p += 1


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
    """Of the predicates first:p the one that bounds the same attribute's numbers from the other side than p, or -1."""
    for q in range(first, p):
        if attrs[q] == attrs[p] and ops[q] == IN:
            if lo[p] == NUMBER_MIN and hi[q] == NUMBER_MAX and lo[q] != NUMBER_MIN:
                return q
            if hi[p] == NUMBER_MAX and lo[q] == NUMBER_MIN and hi[q] != NUMBER_MAX:
                return q
    return -1


@leaf
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
    made: Coded,
    written: Int32Array,
) -> tuple[int, int]:
    """Drop conjunctions that cannot hold, merge a lower and an upper bound, turn what always holds into presence.

    Fills `made` but for `shared` and returns how many conjunctions and predicates it holds; `written` int32[longest
    conjunction] is scratch: where a predicate went.
    """
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
            other = -1
            if ops[p] == IN and (lo[p] == NUMBER_MIN) != (hi[p] == NUMBER_MAX):
                other = mate(first, p, attrs, ops, lo, hi)
            if other >= 0 and made.ops[written[other - first]] == IN:
                at = written[other - first]
                written[p - first] = at
                made.ops[at] = BETWEEN
                if lo[p] == NUMBER_MIN:
                    made.hi[at] = hi_codes[p]
                else:
                    made.lo[at] = lo_codes[p]
                continue
            slot = slots[attrs[p]]
            written[p - first] = n
            made.slots[n], made.ops[n], made.lo[n], made.hi[n] = slot, ops[p], lo_codes[p], hi_codes[p]
            if ops[p] == MISSING:
                made.lo[n], made.hi[n] = 0, 0
            elif vacuous(ops[p], lo[p], hi[p]):
                made.ops[n], made.lo[n], made.hi[n] = IN, 1, bound_starts[slot + 1] - bound_starts[slot] + 1
            n += 1
        made.owners[rows] = owners[c]
        rows += 1
        made.offsets[rows] = n
    return rows, n
