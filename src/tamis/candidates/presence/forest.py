"""The nodes of all trees in arrays, and how they are linked."""

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import leaf
from tamis.arrays.numbers import give_number, take_number
from tamis.arrays.slots import Slots, drop, find, mix, new_slots, put, with_room
from tamis.arrays.slots import has_room as room_in
from tamis.candidates.rows import longer
from tamis.encoding.keys import Int32Array, Int64Array

WIDE = 24  # from this many 1-edges on a node's edges are found by hash
NODES, FREE_NODE, LIVE, ITEMS, FREE_ITEM, LIVE_ITEMS = range(6)


class Forest(NamedTuple):
    """Nodes of all trees. Per node (int32): `lit` first literal of its label (2 * attribute + value), `end` literals from
    the root to its end, `row` a row below it, `zeros`/`ones` first child by the value of its first literal, `next`
    sibling, `items` first item, `width` number of 1-children, or -1 - that number once the node is wide.
    An item is a row that ends at a node: `item_row`, `item_next`. `roots` int32[trees], `held` int64[trees] rows per
    tree, `top` int64[6] the counters named above; `wide` finds the 1-children of wide nodes by (node, literal)."""

    lit: Int32Array
    end: Int32Array
    row: Int32Array
    zeros: Int32Array
    ones: Int32Array
    next: Int32Array
    items: Int32Array
    width: Int32Array
    item_row: Int32Array
    item_next: Int32Array
    roots: Int32Array
    held: Int64Array
    top: Int64Array
    wide: Slots

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(part.nbytes for part in self)


def new_forest(light: int) -> Forest:
    """Empty trees (t, j) for t = 0..light and j = 0..t, and the last one."""
    trees = (light + 1) * (light + 2) // 2 + 1
    none, zero = np.full(trees + 16, -1, np.int32), np.zeros(trees + 16, np.int32)
    return Forest(
        lit=none,
        end=zero,
        row=none.copy(),
        zeros=none.copy(),
        ones=none.copy(),
        next=none.copy(),
        items=none.copy(),
        width=zero.copy(),
        item_row=np.empty(16, np.int32),
        item_next=np.empty(16, np.int32),
        roots=np.arange(trees, dtype=np.int32),
        held=np.zeros(trees, np.int64),
        top=np.array([trees, -1, trees, 0, -1, 0], np.int64),
        wide=new_slots(128),
    )


def enlarged(f: Forest) -> Forest:
    """The forest with more room wherever one more row might find none."""
    nodes, items = int(f.top[NODES]) + 2, int(f.top[ITEMS]) + 1
    return f._replace(
        **{name: longer(getattr(f, name), nodes) for name in Forest._fields[:8]},
        item_row=longer(f.item_row, items),
        item_next=longer(f.item_next, items),
        wide=with_room(f.wide, 2 * WIDE),
    )


@leaf
def child_with(f: Forest, node: int, lit: int) -> int:
    """The child whose label begins with `lit`, or -1."""
    if lit & 1 and f.width[node] < 0:
        return find(f.wide, mix(node, lit), f.lit, lit)
    child = f.ones[node] if lit & 1 else f.zeros[node]
    while child >= 0 and f.lit[child] != lit:
        child = f.next[child]
    return int(child)


@leaf
def link(f: Forest, node: int, child: int) -> None:
    """Make `child` a child of `node`; the node becomes wide when it has enough 1-edges."""
    if not f.lit[child] & 1:
        f.next[child] = f.zeros[node]
        f.zeros[node] = child
        return
    f.next[child] = f.ones[node]
    f.ones[node] = child
    if f.width[node] < 0:
        f.width[node] -= 1
        put(f.wide, mix(node, f.lit[child]), child)
        return
    f.width[node] += 1
    if f.width[node] >= WIDE:
        f.width[node] = -1 - f.width[node]
        each = child
        while each >= 0:
            put(f.wide, mix(node, f.lit[each]), each)
            each = f.next[each]


@leaf
def unlink(f: Forest, node: int, child: int) -> None:
    """Take `child` out of its parent's list."""
    lit = f.lit[child]
    siblings = f.ones if lit & 1 else f.zeros
    at = siblings[node]
    if at == child:
        siblings[node] = f.next[child]
    else:
        while f.next[at] != child:
            at = f.next[at]
        f.next[at] = f.next[child]
    if lit & 1:
        if f.width[node] < 0:
            drop(f.wide, mix(node, lit), child)
            f.width[node] += 1
        else:
            f.width[node] -= 1


@leaf
def new_node(f: Forest, lit: int, end: int, row: int) -> int:
    """A node without children or items; there is room."""
    node = take_number(f.top, NODES, f.next)
    f.lit[node], f.end[node], f.row[node] = lit, end, row
    f.zeros[node] = f.ones[node] = f.next[node] = f.items[node] = -1
    f.width[node] = 0
    return node


@leaf
def free_node(f: Forest, node: int) -> None:
    """Give a node back."""
    give_number(f.top, NODES, f.next, node)


@leaf
def add_item(f: Forest, node: int, row: int) -> None:
    """Let `row` end at `node`; there is room."""
    item = take_number(f.top, ITEMS, f.item_next)
    f.item_row[item] = row
    f.item_next[item] = f.items[node]
    f.items[node] = item


@leaf
def has_room(f: Forest) -> bool:
    """Whether one more row fits in any tree: two nodes, one item, and the edges of a node that becomes wide."""
    nodes = f.top[NODES] + 2 <= len(f.lit)
    items = f.top[ITEMS] + 1 <= len(f.item_row)
    return nodes and items and room_in(f.wide, 2 * WIDE)
