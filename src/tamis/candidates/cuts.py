"""Two-phase space cutting: the structure of BE-Tree.

A node keeps a bucket of rows. When the bucket grows past its limit the node is cut, in two phases. *Clustering*: a node
that stands for cells lo..hi of an attribute's domain is halved; rows whose interval lies in one half move there, rows that
span the cut stay. *Partitioning*: an attribute no node above uses, popular among the bucket's rows, opens a child over its
whole domain, and the rows that name it move there; attributes come in the order of their popularity, and only while what a
partition takes out of the bucket is worth a further visit. An event visits the partitions of its attributes and the
halves its values touch. Removal is the inverse: empty nodes go, and a subtree that has shrunk becomes one bucket again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.ordered import cell, float_of
from tamis.arrays.pool import SMALLEST, Pool, give, new_pool, size_class, take
from tamis.arrays.pool import enlarged as enlarged_pool
from tamis.arrays.slots import Slots, drop, first_slot, mix, new_slots, put, with_room
from tamis.arrays.slots import has_room as room_in
from tamis.candidates.rows import Columns, longer
from tamis.candidates.verify import conjunction_holds, gather, scatter
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, UNKNOWN_STRING, Int32Array, Int64Array
from tamis.predicates.cover import cover

CELLS = 1 << 16  # a domain has this many cells; a cell is not cut
WORTH = 2  # a partition that takes out fewer rows is never worth a visit
NODES, FREE_NODE, LIVE, PENDING = range(4)
ROOT = 0


class Domains(NamedTuple):
    """Per attribute: `texts` bool (interned strings instead of numbers), `base` and `scale` float64 of its cells."""

    texts: NDArray[np.bool_]
    base: NDArray[np.float64]
    scale: NDArray[np.float64]


class Cuts(NamedTuple):
    """Nodes. int32 each: `attr` (-1: root), `lo`/`hi` first and last cell, `left`/`right` halves, `halved` 0/1, `parent`,
    `parts` first partition, `next` partition of the same parent, `width` number of partitions, `total` rows below,
    `size` rows in the bucket, `limit` size at which to cut; `start` int64 and `block` int32: the bucket's place in `data`
    (int32, cells of `pool`), block -1 if none. `place`/`at` int32[rows]: a row's node and where it stands in its bucket.
    `found` finds partitions by (node, attribute); `pending` int32: nodes to cut; `top` int64[4]: counters named above."""

    attr: Int32Array
    lo: Int32Array
    hi: Int32Array
    left: Int32Array
    right: Int32Array
    halved: Int32Array
    parent: Int32Array
    parts: Int32Array
    next: Int32Array
    width: Int32Array
    total: Int32Array
    size: Int32Array
    limit: Int32Array
    block: Int32Array
    pending: Int32Array
    start: Int64Array
    data: Int32Array
    place: Int32Array
    at: Int32Array
    found: Slots
    pool: Pool
    top: Int64Array

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(part.nbytes for part in self)


NODE_FIELDS = Cuts._fields[: Cuts._fields.index("data")]


def new_cuts(capacity: int) -> Cuts:
    """A root with an empty bucket."""
    fields = {name: np.full(16, -1, np.int32) for name in NODE_FIELDS if name != "start"}
    pool = new_pool()
    cuts = Cuts(
        **fields,
        start=np.zeros(16, np.int64),
        data=np.empty(pool.capacity, np.int32),
        place=np.empty(0, np.int32),
        at=np.empty(0, np.int32),
        found=new_slots(64),
        pool=pool,
        top=np.array([0, -1, 0, 0], np.int64),
    )
    new_node(cuts, -1, 0, 0, -1, capacity)
    return cuts


def with_rows(cuts: Cuts, rows: int) -> Cuts:
    """The structure able to place rows with numbers below `rows`."""
    return cuts._replace(place=longer(cuts.place, rows), at=longer(cuts.at, rows))


def enlarged(cuts: Cuts, rows: int) -> Cuts:
    """The structure with room to cut a bucket of `rows` rows."""
    nodes = {name: longer(getattr(cuts, name), int(cuts.top[NODES]) + nodes_needed(rows)) for name in NODE_FIELDS}
    pool = cuts.pool if cells_left(cuts.pool) >= cells_needed(rows) else enlarged_pool(cuts.pool, cells_needed(rows))
    found = with_room(cuts.found, nodes_needed(rows))
    return cuts._replace(**nodes, pool=pool, data=longer(cuts.data, pool.capacity), found=found)


@leaf
def nodes_needed(rows: int) -> int:
    """Nodes that cutting a bucket of `rows` rows may make: two halves, and a partition takes at least WORTH rows."""
    return rows // WORTH + 4


@leaf
def cells_needed(rows: int) -> int:
    """Pool cells that cutting a bucket of `rows` rows may take: blocks double as children fill."""
    return 4 * rows + 4 * nodes_needed(rows) + 64


@leaf
def cells_left(pool: Pool) -> int:
    """Pool cells never handed out."""
    return (len(pool.link) << SMALLEST) - pool.top[0]


@leaf
def has_room(t: Cuts, rows: int) -> bool:
    """Whether a bucket of `rows` rows can be cut, or grow by one, without larger arrays."""
    nodes = nodes_needed(rows)
    enough = t.top[NODES] + nodes <= len(t.attr) and room_in(t.found, nodes)
    return enough and cells_left(t.pool) >= cells_needed(rows)


@leaf
def new_node(t: Cuts, attr: int, lo: int, hi: int, parent: int, capacity: int) -> int:
    """A node with an empty bucket; there is room."""
    node = int(t.top[FREE_NODE])
    if node >= 0:
        t.top[FREE_NODE] = t.next[node]
    else:
        node = int(t.top[NODES])
        t.top[NODES] += 1
    t.top[LIVE] += 1
    t.attr[node], t.lo[node], t.hi[node], t.parent[node] = attr, lo, hi, parent
    t.left[node] = t.right[node] = t.parts[node] = t.next[node] = t.block[node] = -1
    t.halved[node] = t.width[node] = t.total[node] = t.size[node] = 0
    t.limit[node] = capacity
    return node


@leaf
def move(data: Int32Array, source: int, target: int, count: int) -> None:
    """Copy cells to a block elsewhere."""
    for i in range(count):
        data[target + i] = data[source + i]


@leaf
def push(t: Cuts, node: int, row: int) -> None:
    """Add a row to a bucket (not to the totals); there is room."""
    size = t.size[node]
    if t.block[node] < 0 or size == 1 << t.block[node]:
        block = size_class(size + 1)
        start = take(t.pool, block)
        if t.block[node] >= 0:
            move(t.data, t.start[node], start, size)
            give(t.pool, t.start[node], t.block[node])
        t.start[node], t.block[node] = start, block
    t.data[t.start[node] + size] = row
    t.place[row], t.at[row] = node, size
    t.size[node] = size + 1


@leaf
def pull(t: Cuts, row: int) -> None:
    """Take a row out of its bucket (not out of the totals): the last one takes its place."""
    node, at = t.place[row], t.at[row]
    t.size[node] -= 1
    last = t.data[t.start[node] + t.size[node]]
    t.data[t.start[node] + at] = last
    t.at[last] = at


@leaf
def fit(t: Cuts, node: int) -> None:
    """Move a bucket that has lost most of its rows to a smaller block."""
    size, start, block = t.size[node], t.start[node], t.block[node]
    smaller = size_class(size)
    if block > smaller + 1:
        t.start[node], t.block[node] = take(t.pool, smaller), smaller
        move(t.data, start, t.start[node], size)
        give(t.pool, start, block)


@leaf
def position(d: Domains, attr: int, key: int) -> int:
    """The cell of a key in an attribute's domain. Never decreases with the key, so intervals stay intervals."""
    if d.texts[attr]:
        if key < UNKNOWN_STRING:
            return 0
        return cell(float(key - UNKNOWN_STRING), d.base[attr], d.scale[attr], CELLS)
    if key < NUMBER_MIN:
        return 0
    if key > NUMBER_MAX:
        return CELLS - 1
    return cell(float_of(key), d.base[attr], d.scale[attr], CELLS)


@leaf
def span(c: Columns, d: Domains, row: int, attr: int) -> tuple[int, int]:
    """First and last cell of the interval a row asks of an attribute."""
    lo, hi = cover(attr, c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets)
    return position(d, attr, lo), position(d, attr, hi)


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


@leaf
def partition(t: Cuts, node: int, attr: int) -> int:
    """The child of a node over an attribute, or -1."""
    h = mix(node, attr)
    slot = first_slot(t.found, h)
    while t.found.items[slot] >= 0:
        child = t.found.items[slot]
        if t.found.hashes[slot] == h and t.attr[child] == attr:
            return int(child)
        slot = (slot + 1) & (len(t.found.items) - 1)
    return -1


@leaf
def used_above(t: Cuts, node: int, attr: int) -> bool:
    """Whether the node or one above stands for the attribute."""
    while node >= 0:
        if t.attr[node] == attr:
            return True
        node = t.parent[node]
    return False


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
def detach(t: Cuts, node: int) -> None:
    """Take a node out of its parent and give it back with its block."""
    parent = t.parent[node]
    if t.left[parent] == node:
        t.left[parent] = -1
    elif t.right[parent] == node:
        t.right[parent] = -1
    else:
        each = t.parts[parent]
        if each == node:
            t.parts[parent] = t.next[node]
        else:
            while t.next[each] != node:
                each = t.next[each]
            t.next[each] = t.next[node]
        t.width[parent] -= 1
        drop(t.found, mix(parent, t.attr[node]), node)
    if t.block[node] >= 0:
        give(t.pool, t.start[node], t.block[node])
    t.next[node] = t.top[FREE_NODE]
    t.top[FREE_NODE] = node
    t.top[LIVE] -= 1


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


@kernel
def search(
    t: Cuts,
    c: Columns,
    d: Domains,
    event_offsets: Int64Array,
    event_attrs: Int32Array,
    event_keys: Int64Array,
    highest: int,
) -> tuple[Int64Array, Int32Array, Int64Array]:
    """All events. Returns CSR (offsets int64[n+1], owners int32[m]) and the work done: int64[2] nodes visited, rows
    checked. `highest` > 0: owners lie below it and may have several rows. Reads only."""
    attributes = len(d.texts)
    begin, end = np.zeros(attributes, np.int32), np.zeros(attributes, np.int32)
    first_cell, last_cell = np.empty(attributes, np.int32), np.empty(attributes, np.int32)
    last_event = np.full(highest, -1, np.int64)
    out, n = np.empty(1024, np.int32), 0
    out_offsets = np.zeros(len(event_offsets), np.int64)
    stack = np.empty(1024, np.int32)
    work = np.zeros(2, np.int64)
    for e in range(len(event_offsets) - 1):
        first, last = event_offsets[e], event_offsets[e + 1]
        scatter(event_attrs, first, last, begin, end)
        for i in range(first, last):
            a = event_attrs[i]
            if a < attributes:
                at = position(d, a, event_keys[i])
                first_cell[a] = at if i == begin[a] else min(at, first_cell[a])
                last_cell[a] = at if i == begin[a] else max(at, last_cell[a])
        stack[0], depth = ROOT, 1
        while depth:
            depth -= 1
            node = stack[depth]
            work[0] += 1
            work[1] += t.size[node]
            for i in range(t.start[node], t.start[node] + t.size[node]):
                row = t.data[i]
                owner = c.owners[row]
                if (highest == 0 or last_event[owner] != e) and conjunction_holds(
                    c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets, event_keys, begin, end
                ):
                    if highest:
                        last_event[owner] = e
                    out = grown(out, n + 1)
                    out[n] = owner
                    n += 1
            stack = grown(stack, depth + 2 + min(t.width[node], last - first))
            if t.halved[node]:
                a = t.attr[node]
                middle = (t.lo[node] + t.hi[node]) >> 1
                if t.left[node] >= 0 and first_cell[a] <= middle:
                    stack[depth] = t.left[node]
                    depth += 1
                if t.right[node] >= 0 and last_cell[a] > middle:
                    stack[depth] = t.right[node]
                    depth += 1
            if t.width[node] > last - first:
                i = first
                while i < last:
                    a = event_attrs[i]
                    child = partition(t, node, a)
                    if child >= 0:
                        stack[depth] = child
                        depth += 1
                    i += 1
                    while i < last and event_attrs[i] == a:
                        i += 1
            else:
                child = t.parts[node]
                while child >= 0:
                    if end[t.attr[child]]:
                        stack[depth] = child
                        depth += 1
                    child = t.next[child]
        gather(event_attrs, first, last, begin, end)
        out_offsets[e + 1] = n
    return out_offsets, out[:n].copy(), work
