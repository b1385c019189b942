"""Rows come and go one by one."""

from tamis.arrays.jit import kernel, leaf
from tamis.candidates.cutting.cut import half, half_node, settle
from tamis.candidates.cutting.domains import Domains
from tamis.candidates.cutting.nodes import PENDING, ROOT, Cuts, detach, has_room, partition, pull, push
from tamis.candidates.rows import Columns
from tamis.encoding.keys import Int32Array


@leaf
def descend(t: Cuts, c: Columns, leading: Int32Array, d: Domains, row: int) -> tuple[int, int]:
    """(deepest node a row belongs to, the half of it still to be made or -1). Reads only."""
    node = ROOT
    while True:
        if t.halved[node]:
            side = half(t, c, d, node, row)
            if side >= 0:
                child = t.right[node] if side else t.left[node]
                if child < 0:
                    return node, side
                node = child
                continue
        best = -1
        for p in range(c.first[row], c.first[row] + leading[row] if t.width[node] else c.first[row]):
            child = partition(t, node, c.attrs[p])
            if child >= 0 and (best < 0 or t.total[child] > t.total[best]):
                best = child
        if best < 0:
            return node, -1
        node = best


@kernel
def insert_all(
    t: Cuts, c: Columns, leading: Int32Array, d: Domains, rows: Int32Array, done: int, capacity: int, worth: int
) -> tuple[int, int]:
    """Insert rows[done:]; returns (rows done, size of a bucket for which there was no room or 0). Mutates the structure."""
    for i in range(done, len(rows)):
        short = settle(t, c, leading, d, capacity, worth)
        if short:
            return i, short
        node, side = descend(t, c, leading, d, rows[i])
        if not has_room(t, t.size[node] + 1):
            return i, t.size[node] + 1
        if side >= 0:
            node = half_node(t, node, side, capacity)
        push(t, node, rows[i])
        if t.size[node] > t.limit[node]:
            t.pending[t.top[PENDING]] = node
            t.top[PENDING] += 1
        while node >= 0:
            t.total[node] += 1
            node = t.parent[node]
    return len(rows), settle(t, c, leading, d, capacity, worth)


@leaf
def collapse(t: Cuts, top: int, capacity: int) -> None:
    """Move all rows below a node into its bucket and take its children away."""
    while True:
        node = top
        while True:  # down to a node without children
            child = t.left[node] if t.left[node] >= 0 else t.right[node] if t.right[node] >= 0 else t.parts[node]
            if child < 0:
                break
            node = child
        if node == top:
            break
        for i in range(t.size[node]):
            push(t, top, t.data[t.start[node] + i])
        detach(t, node)
    t.halved[top] = 0
    t.limit[top] = capacity


@kernel
def remove_all(t: Cuts, rows: Int32Array, done: int, capacity: int) -> int:
    """Remove rows[done:] that are held; returns how many are done, fewer than all when room is needed. Mutates."""
    for i in range(done, len(rows)):
        if not has_room(t, capacity):
            return i
        node = t.place[rows[i]]
        pull(t, rows[i])
        top = -1
        while node >= 0:
            t.total[node] -= 1
            above = t.parent[node]
            if t.total[node] == 0 and above >= 0:
                collapse(t, node, capacity)
                detach(t, node)
            elif t.total[node] <= capacity // 2:
                top = node
            node = above
        if top >= 0:
            collapse(t, top, capacity)
    return len(rows)
