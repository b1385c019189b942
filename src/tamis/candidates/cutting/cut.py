"""The two phases: halving a range, and partitions by attribute."""

import numpy as np

from tamis.arrays.jit import kernel, leaf
from tamis.arrays.slots import mix, put
from tamis.candidates.cutting.domains import CELLS, Domains, span
from tamis.candidates.cutting.nodes import PENDING, ROOT, Cuts, fit, has_room, new_node, pull, push, used_above
from tamis.candidates.rows import Columns
from tamis.encoding.keys import Int32Array


@leaf
def half(t: Cuts, c: Columns, d: Domains, node: int, row: int) -> int:
    """Where a row goes at a halved node: 0 left, 1 right, -1 it spans the cut."""
    first, last = span(c, d, row, t.attr[node])
    middle = (t.lo[node] + t.hi[node]) >> 1
    return 0 if last <= middle else 1 if first > middle else -1


@leaf
def half_node(t: Cuts, node: int, side: int, capacity: int) -> int:
    """The left or right half of a node, made when new."""
    children = t.right if side else t.left
    if children[node] < 0:
        middle = (t.lo[node] + t.hi[node]) >> 1
        lo, hi = (middle + 1, t.hi[node]) if side else (t.lo[node], middle)
        children[node] = new_node(t, t.attr[node], lo, hi, node, capacity)
    return children[node]


@kernel
def cut(t: Cuts, c: Columns, leading: Int32Array, d: Domains, node: int, capacity: int, worth: int) -> None:
    """Both phases on one node; children that are too full are put on `pending`. There is room."""
    if t.attr[node] >= 0 and not t.halved[node] and t.hi[node] > t.lo[node]:
        t.halved[node] = 1
        i = 0
        while i < t.size[node]:
            row = t.data[t.start[node] + i]
            side = half(t, c, d, node, row)
            if side < 0:
                i += 1
                continue
            child = half_node(t, node, side, capacity)
            pull(t, row)
            push(t, child, row)
            t.total[child] += 1
        for child in (t.left[node], t.right[node]):
            if child >= 0 and t.size[child] > t.limit[child]:
                t.pending[t.top[PENDING]] = child
                t.top[PENDING] += 1
    if t.size[node] > capacity:
        partitions(t, c, leading, node, capacity, worth)
    t.limit[node] = max(capacity, 2 * t.size[node])
    fit(t, node)


@kernel
def partitions(t: Cuts, c: Columns, leading: Int32Array, node: int, capacity: int, worth: int) -> None:
    """Open partitions below a node by popularity until its bucket is small or none is worth a visit."""
    n = t.size[node]
    pairs = 0
    for i in range(n):
        pairs += leading[t.data[t.start[node] + i]]
    attrs, rows = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    at = 0
    for i in range(n):
        row = t.data[t.start[node] + i]
        for p in range(c.first[row], c.first[row] + leading[row]):
            if not used_above(t, node, c.attrs[p]):
                attrs[at], rows[at] = c.attrs[p], row
                at += 1
    order = np.argsort(attrs[:at], kind="mergesort")
    runs = np.empty((at + 1, 2), np.int64)  # (-count, first pair) of each attribute
    count = i = 0
    while i < at:
        j = i
        while j < at and attrs[order[j]] == attrs[order[i]]:
            j += 1
        if j - i >= worth:
            runs[count] = i - j, i
            count += 1
        i = j
    for k in np.argsort(runs[:count, 0], kind="mergesort"):
        if t.size[node] <= capacity:
            break
        begin, end = runs[k, 1], runs[k, 1] - runs[k, 0]
        left = 0
        for i in range(begin, end):
            left += t.place[rows[order[i]]] == node
        if left < worth:
            continue
        attr = attrs[order[begin]]
        child = new_node(t, attr, 0, CELLS - 1, node, capacity)
        t.next[child] = t.parts[node]
        t.parts[node] = child
        t.width[node] += 1
        put(t.found, mix(node, attr), child)
        for i in range(begin, end):
            row = rows[order[i]]
            if t.place[row] == node:
                pull(t, row)
                push(t, child, row)
        t.total[child] = t.size[child]
        if t.size[child] > capacity:
            t.pending[t.top[PENDING]] = child
            t.top[PENDING] += 1


@kernel
def settle(t: Cuts, c: Columns, leading: Int32Array, d: Domains, capacity: int, worth: int) -> int:
    """Cut every pending node; returns 0, or the size of the bucket for which there was no room. Mutates the structure."""
    while t.top[PENDING]:
        node = t.pending[t.top[PENDING] - 1]
        if not has_room(t, t.size[node]):
            return t.size[node]
        t.top[PENDING] -= 1
        cut(t, c, leading, d, node, capacity, worth)
    return 0


@kernel
def pour(t: Cuts, rows: Int32Array) -> None:
    """Put all rows into the empty root's bucket and let it be cut: the way to build from many. There is room."""
    for row in rows:
        push(t, ROOT, row)
    t.total[ROOT] = len(rows)
    if t.size[ROOT] > t.limit[ROOT]:
        t.pending[0] = ROOT
        t.top[PENDING] = 1
