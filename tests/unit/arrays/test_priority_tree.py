"""Red-black priority search trees: the colour rules, the heap, the depth, and searches against a list."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays.priority_tree import (
    LIVE,
    NOT_HELD,
    enlarged,
    find,
    has_room,
    insert,
    new_priority_trees,
    remove,
    search,
)

points = st.tuples(st.integers(-20, 20), st.integers(-20, 20))
scripts = st.lists(st.tuples(st.booleans(), points), max_size=120)


class Tree:
    """A tree and the set it must hold."""

    def __init__(self):
        self.arrays, self.root = new_priority_trees(2), -1
        self.items: dict[tuple[int, int], int] = {}

    def add(self, point, item):
        if not has_room(self.arrays):
            self.arrays = enlarged(self.arrays)
        self.root = insert(self.arrays, self.root, point[0], point[1], item)
        self.items[point] = item

    def drop(self, point):
        node = find(self.arrays, self.root, *point)
        assert self.arrays.item[node] == self.items.pop(point)
        self.root = remove(self.arrays, self.root, node)

    def search(self, a, b):
        out = np.empty(len(self.items) + 1, np.int32)
        count = search(self.arrays, self.root, a, b, np.empty(256, np.int32), out)
        return sorted(out[:count].tolist())

    def check(self):
        t, seen = self.arrays, []

        def walk(node, above, ceiling):
            """(black height, height); `above`: nodes on the way, `ceiling`: lowest held point above or None."""
            if node < 0:
                return 0, 0
            assert t.parent[node] == (above[-1] if above else -1)
            own, held = (int(t.x[node]), int(t.y[node])), int(t.q[node])
            way = [*above, node]
            if t.red[node]:
                assert not any(child >= 0 and t.red[child] for child in (t.left[node], t.right[node]))
            if held >= 0:
                assert t.held[held] == node
                assert ceiling is not None
                assert t.y[held] <= ceiling
            if t.held[node] == NOT_HELD:
                assert held >= 0
                assert own[1] <= t.y[held]
            else:
                assert t.held[node] in way
                assert t.q[t.held[node]] == node
            low = float(t.y[held]) if held >= 0 else None
            left = walk(int(t.left[node]), way, low)
            seen.append(own)
            right = walk(int(t.right[node]), way, low)
            assert left[0] == right[0], "black heights differ"
            return left[0] + (not t.red[node]), 1 + max(left[1], right[1])

        _, height = walk(self.root, [], math.inf)
        assert self.root < 0 or not t.red[self.root]
        assert seen == sorted(self.items)
        assert t.top[LIVE] == len(self.items)
        assert height <= 2 * math.log2(len(self.items) + 1)


@settings(max_examples=150)
@given(scripts, points)
def test_invariants_and_searches(script, corner):
    tree = Tree()
    for item, (adding, point) in enumerate(script):
        if adding and point not in tree.items:
            tree.add(point, item)
        elif not adding and point in tree.items:
            tree.drop(point)
        tree.check()
    a, b = corner
    assert tree.search(a, b) == sorted(item for (x, y), item in tree.items.items() if x <= a and y >= b)


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_a_thousand_points(order):
    chance = np.random.default_rng(7)
    xs = {"ascending": np.arange(1000), "descending": -np.arange(1000), "shuffled": chance.permutation(1000)}[order]
    ys = chance.integers(0, 300, 1000)
    tree = Tree()
    for i, point in enumerate(zip(xs.tolist(), ys.tolist(), strict=True)):
        tree.add(point, i)
    tree.check()
    for point in chance.permutation(np.array(sorted(tree.items)))[:700]:
        tree.drop(tuple(point.tolist()))
    tree.check()
    assert find(tree.arrays, tree.root, 10**6, 0) == -1
    assert tree.search(400, 150) == sorted(i for (x, y), i in tree.items.items() if x <= 400 and y >= 150)
