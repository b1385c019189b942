"""Testing the clusters an event hits: records one by one, blocks 32 at a time.

`event` is the scattered event: uint32[slots], the code of each slot, 0 where absent. Events with several values of one
attribute are scattered as slices instead, and every predicate is tested by its own code.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.arrays.simd import LANES, append_masked, range_mask
from tamis.candidates.keyed.coded import BETWEEN
from tamis.candidates.keyed.layout import HEAD, PACKED, TRIPLE, Item, record_length
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, Int32Array, Int64Array
from tamis.encoding.subscriptions import (
    ALL_SET,
    FIRST_SET,
    IN,
    IN_SET,
    MISSING,
    NONE,
    NONE_SET,
    OUT,
    OUT_SET,
)
from tamis.predicates.ranks import rank

UInt32Array = NDArray[np.uint32]


@leaf
def code_in_set(set_codes: Int32Array, lo: int, hi: int, code: int) -> bool:
    """Whether `code` is among the ascending set_codes[lo:hi]."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if set_codes[middle] == code:
            return True
        if set_codes[middle] < code:
            lo = middle + 1
        else:
            hi = middle
    return False


@leaf
def complex_holds(op: int, lo: int, hi: int, code: int, set_starts: Int64Array, set_codes: Int32Array) -> bool:
    """Whether a complex predicate (lo, hi as in a record) holds for a slot whose only code is `code`."""
    if code == 0:
        return False
    if op == OUT or op == NONE:
        return code < lo or code > hi
    number = lo | hi << 16
    inside = code_in_set(set_codes, set_starts[number], set_starts[number + 1], code)
    return inside == (op == IN_SET or op == ALL_SET)


@leaf
def verify_records(
    records: NDArray[Item],
    at: int,
    stop: int,
    event: UInt32Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
    out: Int32Array,
    n: int,
    counters: Int64Array,
) -> int:
    """Append to out[n:] the owners (shared ones negative) of the records at:stop that hold; returns the new n.

    Returns -1 when `out` is full. Adds to counters[0] the records tested.
    """
    half = 4 * records.itemsize
    low = (1 << half) - 1
    tested = 0
    while at < stop:
        simple, total = records[at] & low, records[at + 1] & low
        holds = True
        p = at + HEAD
        for _ in range(simple):
            code = event[records[p]]
            if code < records[p + 1] or code > records[p + 2]:
                holds = False
                break
            p += TRIPLE
        if holds:
            others = records[at] >> half
            for k in range(simple, simple + others):
                op = records[at + HEAD + TRIPLE * total + k // PACKED] >> (4 * (k % PACKED)) & 15
                if not complex_holds(op, records[p + 1], records[p + 2], event[records[p]], set_starts, set_codes):
                    holds = False
                    break
                p += TRIPLE
            if holds:
                if n >= len(out):
                    return -1
                out[n] = np.int32(np.uint32(records[at + 2]) | np.uint32(records[at + 3]) << np.uint32(16))
                n += 1
        tested += 1
        at += record_length(total)
    counters[0] += tested
    return n


@leaf
def verify_blocks(
    first: int,
    last: int,
    block_columns: UInt32Array,
    block_live: UInt32Array,
    block_owners: Int32Array,
    column_slots: UInt32Array,
    columns: NDArray[Item],
    event: UInt32Array,
    out: Int32Array,
    n: int,
    counters: Int64Array,
) -> int:
    """Append to out[n:] the owners of the lanes of blocks first:last that hold; returns the new n, or -1 when full.

    Adds to counters[2] the bytes of the columns read.
    """
    tested = 0
    for b in range(first, last):
        mask = block_live[b]
        for k in range(block_columns[b], block_columns[b + 1]):
            mask &= range_mask(columns, 2 * LANES * k, event[column_slots[k]])
            tested += 1
            if mask == 0:
                break
        if mask != 0:
            if n + LANES > len(out):
                return -1
            n = append_masked(block_owners, LANES * b, mask, out, n)
    counters[2] += 2 * LANES * columns.itemsize * tested
    return n


@leaf
def several_hold(
    op: int,
    lo: int,
    hi: int,
    codes: UInt32Array,
    begin: int,
    end: int,
    set_starts: Int64Array,
    set_codes: Int32Array,
    bounds: Int64Array,
    bound_start: int,
    bound_stop: int,
) -> bool:
    """Whether a predicate (lo, hi as in a record) holds for a slot with the codes begin:end."""
    if begin == end or op == MISSING:
        return begin == end and op == MISSING
    inside, above, below = 0, False, False
    top = rank(bounds, bound_start, bound_stop, NUMBER_MAX) if op == BETWEEN else 0
    bottom = rank(bounds, bound_start, bound_stop, NUMBER_MIN) if op == BETWEEN else 0
    number = lo | hi << 16
    for i in range(begin, end):
        code = codes[i]
        if op == BETWEEN:
            above |= lo <= code <= top
            below |= bottom <= code <= hi
        elif op >= FIRST_SET:
            inside += code_in_set(set_codes, set_starts[number], set_starts[number + 1], code)
        else:
            inside += lo <= code <= hi
    if op == BETWEEN:
        return above and below
    if op == IN or op == IN_SET:
        return inside > 0
    if op == OUT or op == OUT_SET:
        return inside < end - begin
    if op == NONE or op == NONE_SET:
        return inside == 0
    return inside == end - begin
