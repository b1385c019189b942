"""Nodes and their buckets in arrays."""

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import leaf
from tamis.arrays.numbers import give_number, take_number
from tamis.arrays.pool import Pool, cells_left, give, new_pool, size_class, take
from tamis.arrays.pool import enlarged as enlarged_pool
from tamis.arrays.slots import Slots, drop, find, mix, new_slots, with_room
from tamis.arrays.slots import has_room as room_in
from tamis.candidates.rows import longer
from tamis.encoding.keys import Int32Array, Int64Array

WORTH = 2  # a partition that takes out fewer rows is never worth a visit
NODES, FREE_NODE, LIVE, PENDING = range(4)
ROOT = 0


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
def has_room(t: Cuts, rows: int) -> bool:
    """Whether a bucket of `rows` rows can be cut, or grow by one, without larger arrays."""
    nodes = nodes_needed(rows)
    enough = t.top[NODES] + nodes <= len(t.attr) and room_in(t.found, nodes)
    return enough and cells_left(t.pool) >= cells_needed(rows)


@leaf
def new_node(t: Cuts, attr: int, lo: int, hi: int, parent: int, capacity: int) -> int:
    """A node with an empty bucket; there is room."""
    node = take_number(t.top, NODES, t.next)
    t.attr[node], t.lo[node], t.hi[node], t.parent[node] = attr, lo, hi, parent
    t.left[node] = t.right[node] = t.parts[node] = t.next[node] = t.block[node] = -1
    t.halved[node] = t.width[node] = t.total[node] = t.size[node] = 0
    t.limit[node] = capacity
    return node


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
    give_number(t.top, NODES, t.next, node)


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
def partition(t: Cuts, node: int, attr: int) -> int:
    """The child of a node over an attribute, or -1."""
    return find(t.found, mix(node, attr), t.attr, attr)


@leaf
def used_above(t: Cuts, node: int, attr: int) -> bool:
    """Whether the node or one above stands for the attribute."""
    while node >= 0:
        if t.attr[node] == attr:
            return True
        node = t.parent[node]
    return False
