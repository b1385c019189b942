"""The rows of one bucket, in order when it is large."""

import numpy as np

from tamis.arrays.jit import kernel, leaf
from tamis.arrays.pool import give, size_class, take
from tamis.candidates.buckets.layout import BUCKETS, LARGEST, Structures
from tamis.candidates.rows import Columns
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.predicates.cover import cover

SHORT = 32  # up to here an ordered bucket is read through


@leaf
def copy_cell(s: Structures, source: int, target: int) -> None:
    """One cell to another place."""
    s.row[target], s.attr[target] = s.row[source], s.attr[source]
    s.lo[target], s.hi[target] = s.lo[source], s.hi[source]


@leaf
def append(s: Structures, c: Columns, leading: Int32Array, b: int, row: int, ordered: bool) -> None:
    """Add a row to a bucket, at its place by (attribute, interval start) or at the end; there is room."""
    size = s.b_size[b]
    if s.b_block[b] < 0 or size == 1 << s.b_block[b]:
        block = size_class(size + 1)
        start = take(s.pool, block)
        if s.b_block[b] >= 0:
            for i in range(size):
                copy_cell(s, s.b_start[b] + i, start + i)
            give(s.pool, s.b_start[b], s.b_block[b])
        s.b_start[b], s.b_block[b] = start, block
    attr, lo, hi = -1, 0, 0
    if leading[row] > s.b_level[b]:
        attr = c.attrs[c.first[row] + s.b_level[b]]
        lo, hi = cover(attr, c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets)
    start = s.b_start[b]
    at = start + size
    if ordered:
        at = bound(s, start, at, attr, lo)
        for i in range(start + size, at, -1):
            copy_cell(s, i - 1, i)
    s.row[at], s.attr[at], s.lo[at], s.hi[at] = row, attr, lo, hi
    s.b_size[b] = size + 1
    s.place[row] = b
    s.top[LARGEST] = max(s.top[LARGEST], size + 1)


@leaf
def bound(s: Structures, first: int, last: int, attr: int, lo: int) -> int:
    """The first of the ordered cells first:last that comes after (attr, lo)."""
    while first < last:
        middle = (first + last) >> 1
        if s.attr[middle] < attr or (s.attr[middle] == attr and s.lo[middle] <= lo):
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def order_all(s: Structures) -> None:
    """Sort every bucket by (first attribute not used above, interval start); mutates the cells."""
    for b in range(s.top[BUCKETS]):
        first, size = s.b_start[b], s.b_size[b]
        if s.b_level[b] < 0 or size < 2:
            continue
        last = first + size
        order = np.argsort(s.lo[first:last], kind="mergesort")
        order = order[np.argsort(s.attr[first:last][order], kind="mergesort")]
        s.row[first:last] = s.row[first:last][order]
        s.attr[first:last] = s.attr[first:last][order]
        s.lo[first:last] = s.lo[first:last][order]
        s.hi[first:last] = s.hi[first:last][order]


@leaf
def candidates(
    s: Structures,
    b: int,
    ordered: bool,
    event_attrs: Int32Array,
    first: int,
    last: int,
    end: Int32Array,
    low: Int64Array,
    high: Int64Array,
    out: Int32Array,
) -> int:
    """Rows of a bucket whose first unused attribute the event carries and may satisfy (figure 4); returns how many.

    An ordered bucket is asked for each attribute of the event: its group is found by binary search, and so is the end of
    the intervals that start in time. `out` int32: room for the largest bucket."""
    start, stop = s.b_start[b], s.b_start[b] + s.b_size[b]
    n = 0
    if not ordered or stop - start <= SHORT:
        for i in range(start, stop):
            a = s.attr[i]
            if a < 0 or (end[a] > 0 and s.lo[i] <= high[a] and s.hi[i] >= low[a]):
                out[n] = s.row[i]
                n += 1
        return n
    at = start
    while at < stop and s.attr[at] < 0:
        out[n] = s.row[at]
        n += 1
        at += 1
    e = first
    while e < last and at < stop:
        a = event_attrs[e]
        e += 1
        while e < last and event_attrs[e] == a:
            e += 1
        if a >= len(end) or s.attr[stop - 1] < a:
            break
        at = bound(s, at, stop, a - 1, (1 << 63) - 1)
        until = bound(s, at, stop, a, high[a])
        for i in range(at, until):
            if s.hi[i] >= low[a]:
                out[n] = s.row[i]
                n += 1
        at = until
    return n
