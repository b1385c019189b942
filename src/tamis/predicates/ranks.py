"""Rank codes: the values of an attribute as small integers that lose nothing its constants can tell apart.

All constants of an attribute cut the line of keys into elementary intervals, and no predicate distinguishes two keys of the
same interval. The *code* of a key is the number of its interval, from 1; code 0 stands for an absent attribute. An
interval of keys is an interval of codes, a constant of an equality has a code of its own, and codes are as narrow as the
number of constants allows. Attributes that occur in predicates are numbered densely too, as *slots*, most frequent first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.csr import tally
from tamis.arrays.hashing import bucket
from tamis.arrays.jit import kernel, leaf
from tamis.encoding.keys import KEY_MAX, KEY_MIN, Int32Array, Int64Array
from tamis.encoding.subscriptions import FIRST_SET, MISSING, SubscriptionTable


class Ranks(NamedTuple):
    """slots int32[attributes]: attribute → slot or -1; attrs int32[s]: back; bounds of slot s: bounds[starts[s]:starts[s+1]].

    A bound is the first key of an elementary interval; bounds ascend within a slot.
    """

    slots: Int32Array
    attrs: Int32Array
    starts: Int64Array
    bounds: Int64Array


class Codes(NamedTuple):
    """The predicates of a table in codes: lo/hi int32[p]; set predicates have in `lo` the number of their set instead.

    Set i is set_codes[set_starts[i]:set_starts[i+1]] (int32, ascending).
    """

    lo: Int32Array
    hi: Int32Array
    set_starts: Int64Array
    set_codes: Int32Array


def rank_table(table: SubscriptionTable) -> tuple[Ranks, Codes]:
    """The ranks of a table's constants, and its predicates in codes."""
    counts = np.zeros(len(table.dictionary), np.int64)
    tally(table.attrs, counts)
    attrs = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].astype(np.int32)
    slots = np.full(len(counts), -1, np.int32)
    slots[attrs] = np.arange(len(attrs), dtype=np.int32)
    set_starts = starts_of_sets(table)
    starts = np.concatenate([[0], np.cumsum(counts[attrs])]).astype(np.int64)
    # NumPy asks for huge pages, a kernel that allocates does not
    ops, lo, hi = np.empty_like(table.ops), np.empty_like(table.lo), np.empty_like(table.hi)
    numbers = np.empty(len(ops) if len(set_starts) > 1 else 0, np.int32)
    group_by_slot(table.attrs, table.ops, table.lo, table.hi, slots, starts, ops, lo, hi, numbers)
    bound_starts, bounds, set_codes = rank_grouped(starts, ops, lo, hi, numbers, table.sets, set_starts)
    lo_codes, hi_codes = np.empty(len(ops), np.int32), np.empty(len(ops), np.int32)
    ungroup(table.attrs, slots, starts, lo, hi, lo_codes, hi_codes)
    return Ranks(slots, attrs, bound_starts, bounds), Codes(lo_codes, hi_codes, set_starts, set_codes)


def code_known(table: SubscriptionTable, ranks: Ranks) -> Codes:
    """The predicates of a table in codes, by the ranks of another that has all its constants."""
    set_starts = starts_of_sets(table)
    lo, hi = np.empty(len(table.attrs), np.int32), np.empty(len(table.attrs), np.int32)
    set_codes = np.empty(int(set_starts[-1]), np.int32)
    columns = (ranks.slots[table.attrs], table.ops, table.lo, table.hi, table.sets)
    look_up_codes(*columns, ranks.starts, ranks.bounds, lo, hi, set_codes)
    return Codes(lo, hi, set_starts, set_codes)


def starts_of_sets(table: SubscriptionTable) -> Int64Array:
    """Where the set of each set predicate starts, in the order of the predicates; int64[sets + 1]."""
    listed = np.flatnonzero(table.ops >= FIRST_SET)
    return np.concatenate([[0], np.cumsum(table.hi[listed] - table.lo[listed])]).astype(np.int64)


@leaf
def rank(bounds: Int64Array, start: int, stop: int, key: int) -> int:
    """The code of a key: 1 + the number of bounds[start:stop] not above it; halves without branching on the data."""
    low, count = start, stop - start
    while count > 0:
        half = count >> 1
        middle = low + half
        low = middle + 1 if bounds[middle] <= key else low
        count = count - half - 1 if bounds[middle] <= key else half
    return low - start + 1


@leaf
def look_up_codes(
    slot: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    sets: Int64Array,
    starts: Int64Array,
    bounds: Int64Array,
    lo_codes: Int32Array,
    hi_codes: Int32Array,
    set_codes: Int32Array,
) -> None:
    """Fill the codes of predicates (see `Codes`) whose constants are all among the bounds."""
    number, n = 0, 0
    for p in range(len(slot)):
        first, last = starts[slot[p]], starts[slot[p] + 1]
        lo_codes[p], hi_codes[p] = 0, 0
        if ops[p] >= FIRST_SET:
            for q in range(lo[p], hi[p]):
                set_codes[n] = rank(bounds, first, last, sets[q])
                n += 1
            lo_codes[p] = number
            number += 1
        elif ops[p] != MISSING:
            lo_codes[p], hi_codes[p] = rank(bounds, first, last, lo[p]), rank(bounds, first, last, hi[p])


@leaf
def key_range(ranks: Ranks, slot: int, lo: int, hi: int) -> tuple[int, int]:
    """The interval of keys behind an interval of codes (both at least 1)."""
    start, stop = ranks.starts[slot], ranks.starts[slot + 1]
    first = KEY_MIN if lo == 1 else ranks.bounds[start + lo - 2]
    last = KEY_MAX if hi == stop - start + 1 else ranks.bounds[start + hi - 1] - 1
    return first, last


@leaf
def place(keys: Int64Array, used: Int32Array, stamp: int, bits: int, key: int) -> int:
    """Where `key` is, or would go, in an open hash table whose places with used == stamp are taken."""
    mask = (1 << bits) - 1
    at = bucket(key, bits)
    while used[at] == stamp and keys[at] != key:
        at = (at + 1) & mask
    return at


@leaf
def note(
    keys: Int64Array, used: Int32Array, stamp: int, bits: int, key: int, bounds: Int64Array, end: int
) -> tuple[int, int]:
    """Enter `key` into the hash table and, when new, at bounds[end]; returns its place and the new end."""
    at = place(keys, used, stamp, bits, key)
    if used[at] != stamp:
        keys[at], used[at], bounds[end] = key, stamp, key
        end += 1
    return at, end


@kernel
def group_by_slot(
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    slots: Int32Array,
    starts: Int64Array,
    by_op: NDArray[np.uint8],
    by_lo: Int64Array,
    by_hi: Int64Array,
    by_set: Int32Array,
) -> None:
    """Fill by_… with the predicates in the order of their slots, slot s from starts[s] on, by streaming.

    by_set int32[p], or empty when there are no sets: the number of a predicate's set.
    """
    at, number = starts.copy(), 0
    for p in range(len(attrs)):
        s = slots[attrs[p]]
        j = at[s]
        at[s] += 1
        by_op[j], by_lo[j], by_hi[j] = ops[p], lo[p], hi[p]
        if ops[p] >= FIRST_SET:
            by_set[j] = number
            number += 1


@kernel
def ungroup(
    attrs: Int32Array,
    slots: Int32Array,
    starts: Int64Array,
    by_lo: Int64Array,
    by_hi: Int64Array,
    lo: Int32Array,
    hi: Int32Array,
) -> None:
    """Fill lo, hi int32[p] with what `group_by_slot` brought into the order of slots, in the order of the table again."""
    at = starts.copy()
    for p in range(len(attrs)):
        s = slots[attrs[p]]
        lo[p], hi[p] = by_lo[at[s]], by_hi[at[s]]
        at[s] += 1


@kernel
def rank_grouped(
    starts: Int64Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    set_number: Int32Array,
    sets: Int64Array,
    set_starts: Int64Array,
) -> tuple[Int64Array, Int64Array, Int32Array]:
    """Bounds of each slot's predicates starts[s]:starts[s+1]; replaces `lo` and `hi` by codes.

    Returns bound starts int64[s+1], bounds int64, set codes int32.
    """
    bits, stamp, total = 10, 0, 0
    keys, used, ranked = np.empty(1 << bits, np.int64), np.zeros(1 << bits, np.int32), np.empty(1 << bits, np.int32)
    set_codes = np.empty(set_starts[-1], np.int32)
    slots, most = len(starts) - 1, 0
    for s in range(slots):
        most = max(most, starts[s + 1] - starts[s])
    lo_at, hi_at = np.empty(most, np.int32), np.empty(most, np.int32)  # of one slot at a time
    bound_starts, bounds = np.zeros(slots + 1, np.int64), np.empty(1024, np.int64)
    for s in range(slots):
        end, complete = total, False
        while not complete:  # starts over with a larger hash table when this one fills up
            end, complete = total, True
            stamp += 1
            bounds = grown(bounds, total + len(keys))
            for p in range(starts[s], starts[s + 1]):
                if ops[p] >= FIRST_SET:
                    for q in range(lo[p], hi[p]):
                        if 4 * (end - total) + 8 > len(keys):
                            break
                        _, end = note(keys, used, stamp, bits, sets[q], bounds, end)
                        if sets[q] != KEY_MAX:
                            _, end = note(keys, used, stamp, bits, sets[q] + 1, bounds, end)
                elif ops[p] != MISSING:
                    if lo[p] != KEY_MIN:
                        lo_at[p - starts[s]], end = note(keys, used, stamp, bits, lo[p], bounds, end)
                    if hi[p] != KEY_MAX:
                        hi_at[p - starts[s]], end = note(keys, used, stamp, bits, hi[p] + 1, bounds, end)
                if 4 * (end - total) + 8 > len(keys):
                    complete = False
                    bits += 1
                    keys, used = np.empty(1 << bits, np.int64), np.zeros(1 << bits, np.int32)
                    ranked = np.empty(1 << bits, np.int32)
                    break
        bounds[total:end].sort()
        for i in range(total, end):
            ranked[place(keys, used, stamp, bits, bounds[i])] = i - total
        for p in range(starts[s], starts[s + 1]):
            if ops[p] >= FIRST_SET:
                for q in range(lo[p], hi[p]):
                    code = ranked[place(keys, used, stamp, bits, sets[q])] + 2
                    set_codes[set_starts[set_number[p]] + q - lo[p]] = code
                lo[p], hi[p] = set_number[p], 0
            elif ops[p] == MISSING:
                lo[p], hi[p] = 0, 0
            else:
                lo[p] = 1 if lo[p] == KEY_MIN else ranked[lo_at[p - starts[s]]] + 2
                hi[p] = end - total + 1 if hi[p] == KEY_MAX else ranked[hi_at[p - starts[s]]] + 1
        total = end
        bound_starts[s + 1] = total
    return bound_starts, bounds[:total].copy(), set_codes
