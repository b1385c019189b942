"""Interval trees: where intervals are kept, how deep, and searches against a list."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays.interval_tree import (
    LIVE,
    enlarged,
    forget,
    has_room,
    keep,
    new_interval_trees,
    node_of,
    search,
)

SIZE = 100
intervals = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).map(sorted).map(tuple)
DEPTH = math.ceil(math.log2(SIZE + 1))


class Tree:
    """A tree that keeps, under an item per node, the intervals given to it."""

    def __init__(self):
        self.arrays, self.root = new_interval_trees(2), -1
        self.kept: dict[int, list[tuple[int, int]]] = {}

    def add(self, interval):
        node = node_of(self.arrays, self.root, 0, SIZE - 1, *interval)
        item = int(self.arrays.item[node]) if node >= 0 else -1
        if item < 0:
            while not has_room(self.arrays, DEPTH):
                self.arrays = enlarged(self.arrays)
            item = max(self.kept, default=-1) + 1
            self.root, node = keep(self.arrays, self.root, 0, SIZE - 1, interval[0], interval[1], item)
            assert node_of(self.arrays, self.root, 0, SIZE - 1, *interval) == node
        self.kept.setdefault(item, []).append(interval)

    def drop(self, interval):
        node = node_of(self.arrays, self.root, 0, SIZE - 1, *interval)
        item = int(self.arrays.item[node])
        self.kept[item].remove(interval)
        if not self.kept[item]:
            del self.kept[item]
            self.root = forget(self.arrays, self.root, node)

    def check(self):
        """Every interval contains the middle of its node and lies inside the node's range."""
        t, nodes = self.arrays, 0
        stack = [(self.root, 0, SIZE - 1, 1)] if self.root >= 0 else []
        while stack:
            node, lo, hi, depth = stack.pop()
            nodes += 1
            assert depth <= DEPTH
            middle = (lo + hi) >> 1
            for first, last in self.kept.get(int(t.item[node]), []):
                assert lo <= first <= middle <= last <= hi
            children = [(int(t.left[node]), lo, middle - 1), (int(t.right[node]), middle + 1, hi)]
            assert t.item[node] >= 0 or any(child >= 0 for child, _, _ in children)
            stack += [(*child, depth + 1) for child in children if child[0] >= 0]
        assert nodes == t.top[LIVE]

    def search(self, a, b):
        out = np.empty(len(self.kept) + 1, np.int32)
        stack = np.empty(3 * DEPTH + 6, np.int64)
        return out[: search(self.arrays, self.root, 0, SIZE - 1, a, b, stack, out)].tolist()


@settings(max_examples=150)
@given(st.lists(intervals, max_size=60), st.data())
def test_invariants_and_searches(given_intervals, data):
    tree = Tree()
    for interval in given_intervals:
        tree.add(interval)
    tree.check()
    leaving = data.draw(st.permutations(given_intervals))[: len(given_intervals) // 2]
    for interval in leaving:
        tree.drop(interval)
    tree.check()
    a, b = data.draw(intervals)
    items = tree.search(a, b)
    assert len(items) == len(set(items))
    touching = {item for item, held in tree.kept.items() for lo, hi in held if lo <= b and hi >= a}
    assert touching <= set(items)
    assert len(tree.search(a, a)) <= DEPTH
