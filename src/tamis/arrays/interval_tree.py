"""Interval trees over a finite range of integers, in arrays.

A tree stands for positions lo..hi. A node with the middle m keeps one item for all intervals that contain m; intervals
below m belong to its left child, which halves what is left, those above to its right. An interval thus has one node, at
most log2(range) deep, and a value meets only intervals kept on its own path. Nodes exist while they or nodes below keep an
item. Many trees share one set of arrays; a tree is known by its root, -1 when empty.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.arrays.numbers import give_number, take_number

NODES, FREE, LIVE = range(3)


class IntervalTrees(NamedTuple):
    """Per node int32: `left`, `right`, `parent` and `item` (-1: none kept here). `top` int64[3]: counters."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    parent: NDArray[np.int32]
    item: NDArray[np.int32]
    top: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)


def new_interval_trees(capacity: int = 64) -> IntervalTrees:
    """Room for `capacity` nodes."""
    fields = {name: np.empty(capacity, np.int32) for name in IntervalTrees._fields[:-1]}
    return IntervalTrees(**fields, top=np.array([0, -1, 0], np.int64))


def enlarged(t: IntervalTrees) -> IntervalTrees:
    """Twice the room."""
    return t._replace(**{name: np.concatenate([getattr(t, name)] * 2) for name in IntervalTrees._fields[:-1]})


@leaf
def has_room(t: IntervalTrees, nodes: int) -> bool:
    """Whether `nodes` more nodes fit: a new interval may need one per level."""
    return bool(t.top[NODES] + nodes <= len(t.left))


@leaf
def new_node(t: IntervalTrees, parent: int) -> int:
    """A node that keeps nothing."""
    node = take_number(t.top, NODES, t.left)
    t.left[node] = t.right[node] = t.item[node] = -1
    t.parent[node] = parent
    return node


@leaf
def node_of(t: IntervalTrees, root: int, lo: int, hi: int, first: int, last: int) -> int:
    """The node where intervals first..last are kept, in a tree over lo..hi; -1 if it does not exist."""
    node = root
    while node >= 0:
        middle = (lo + hi) >> 1
        if last < middle:
            node, hi = t.left[node], middle - 1
        elif first > middle:
            node, lo = t.right[node], middle + 1
        else:
            return node
    return -1


@leaf
def keep(t: IntervalTrees, root: int, lo: int, hi: int, first: int, last: int, item: int) -> tuple[int, int]:
    """Keep `item` for intervals first..last, making nodes as needed (there is room); returns (root, node)."""
    if root < 0:
        root = new_node(t, -1)
    node = root
    while True:
        middle = (lo + hi) >> 1
        if last < middle:
            if t.left[node] < 0:
                t.left[node] = new_node(t, node)
            node, hi = t.left[node], middle - 1
        elif first > middle:
            if t.right[node] < 0:
                t.right[node] = new_node(t, node)
            node, lo = t.right[node], middle + 1
        else:
            t.item[node] = item
            return root, node


@leaf
def forget(t: IntervalTrees, root: int, node: int) -> int:
    """Keep nothing at `node`, and drop nodes that have become useless; returns the root."""
    t.item[node] = -1
    while node >= 0 and t.item[node] < 0 and t.left[node] < 0 and t.right[node] < 0:
        parent = t.parent[node]
        if parent < 0:
            root = -1
        elif t.left[parent] == node:
            t.left[parent] = -1
        else:
            t.right[parent] = -1
        give_number(t.top, NODES, t.left, node)
        node = parent
    return root


@leaf
def search(
    t: IntervalTrees, root: int, lo: int, hi: int, a: int, b: int, stack: NDArray[np.int64], out: NDArray[np.int32]
) -> int:
    """Items of all nodes whose intervals may touch a..b (a <= b) into `out` (int32, as many as there may be); returns how
    many. With a = b that is the path of one value. `stack` int64[3 * depth + 6]: scratch."""
    found = depth = 0
    if root >= 0:
        stack[0], stack[1], stack[2], depth = root, lo, hi, 3
    while depth:
        depth -= 3
        node, lo, hi = stack[depth], stack[depth + 1], stack[depth + 2]
        if t.item[node] >= 0:
            out[found] = t.item[node]
            found += 1
        middle = (lo + hi) >> 1
        if a < middle and t.left[node] >= 0:
            stack[depth], stack[depth + 1], stack[depth + 2] = t.left[node], lo, middle - 1
            depth += 3
        if b > middle and t.right[node] >= 0:
            stack[depth], stack[depth + 1], stack[depth + 2] = t.right[node], middle + 1, hi
            depth += 3
    return found
