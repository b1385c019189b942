"""Testing the clusters an event hits: records one by one, blocks 32 at a time.

`event` is the scattered event: uint32[slots], the code of each slot, 0 where absent. Events with several values of one
attribute are scattered as slices instead, and every predicate is tested by its own code.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.arrays.simd import LANES, append_masked, equal_mask, range_mask
from tamis.candidates.keyed.coded import BETWEEN
from tamis.candidates.keyed.layout import HEAD, PACKED, TRIPLE, Item
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
ONE, TWO, THREE, FIRST = np.uint64(1), np.uint64(2), np.uint64(TRIPLE), np.uint64(HEAD)
"""Unsigned, so that what they are added to stays so: Numba asks of every signed index whether it counts from the end."""


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
def others_hold(
    records: NDArray[Item],
    at: np.uint64,
    codes: np.uint64,
    head: int,
    event: UInt32Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
) -> bool:
    """Whether the complex predicates of a record hold: they begin at `at`, their codes at `codes`; head as in the record."""
    half = 4 * records.itemsize
    simple = head & ((1 << half) - 1)
    for k in range(simple, simple + (head >> half)):
        op = records[codes + np.uint64(k // PACKED)] >> (4 * (k % PACKED)) & 15
        if not complex_holds(op, records[at + ONE], records[at + TWO], event[records[at]], set_starts, set_codes):
            return False
        at += THREE
    return True


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
    if n + (stop - at) // HEAD > len(out):
        return -1
    half = 4 * records.itemsize
    low = (1 << half) - 1
    here, end, tested = np.uint64(at), np.uint64(stop), 0
    while here < end:
        head, total = records[here], np.uint64(records[here + ONE] & low)
        p, failed = here + FIRST, False
        last = p + THREE * np.uint64(head & low)
        while p < last:
            code = event[records[p]]
            failed |= (code < records[p + ONE]) | (code > records[p + TWO])
            p += THREE
        if head >> half and not failed:
            codes = here + FIRST + THREE * total
            failed = not others_hold(records, p, codes, head, event, set_starts, set_codes)
        out[n] = np.int32(np.uint32(records[here + TWO]) | np.uint32(records[here + THREE]) << np.uint32(16))
        n += 0 if failed else 1
        tested += 1
        here += FIRST + THREE * total + ((total + THREE) >> TWO)
    counters[0] += tested
    return n


@leaf
def verify_blocks(
    first: int,
    last: int,
    block_columns: UInt32Array,
    block_starts: UInt32Array,
    block_equal: NDArray[np.uint8],
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
    read = 0
    for b in range(first, last):
        mask = block_live[b]
        k, end = int(block_columns[b]), int(block_columns[b + 1])
        ranges = k + block_equal[b]
        start = LANES * int(block_starts[b])
        at = start
        while mask and k < ranges:
            mask &= equal_mask(columns, at, event[column_slots[k]])
            at += LANES
            k += 1
        while mask and k < end:
            mask &= range_mask(columns, at, event[column_slots[k]])
            at += 2 * LANES
            k += 1
        read += at - start
        if mask != 0:
            if n + LANES > len(out):
                return -1
            n = append_masked(block_owners, LANES * b, mask, out, n)
    counters[2] += columns.itemsize * read
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
