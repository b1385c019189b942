"""Red-black priority search trees in arrays: points (x, y), found by x <= a and y >= b in O(log n + results).

A node holds a point of its own, by which the tree is ordered (x, then y), and is coloured as in a red-black tree. Beside
it a node may *hold* a point of its subtree (`q`): the held points form a heap on y. A point is held by one node between
its own and the root, or by none: then its own node holds one at least as high. So a search may leave a subtree whose held
point is too low. An insertion or removal makes O(1) rotations, each mended in O(log n): O(log n) in all.

Many trees share one set of arrays; a tree is known by its root, -1 when empty, which changes return anew.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.arrays.numbers import give_number, take_number

NODES, FREE, LIVE = range(3)
NOT_HELD, FLOATING = -1, -2


class PriorityTrees(NamedTuple):
    """Per node: `x`, `y` int64 its point, `item` int32 the caller's number, `left`/`right`/`parent` int32, `red` uint8,
    `q` int32 the node whose point it holds or -1, `held` int32 the node that holds its point. `top` int64[3]: counters."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    item: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    parent: NDArray[np.int32]
    red: NDArray[np.uint8]
    q: NDArray[np.int32]
    held: NDArray[np.int32]
    top: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)


def new_priority_trees(capacity: int = 64) -> PriorityTrees:
    """Room for `capacity` nodes."""
    kinds = {"x": np.int64, "y": np.int64, "red": np.uint8}
    fields = {name: np.empty(capacity, kinds.get(name, np.int32)) for name in PriorityTrees._fields[:-1]}
    return PriorityTrees(**fields, top=np.array([0, -1, 0], np.int64))


def enlarged(t: PriorityTrees) -> PriorityTrees:
    """Twice the room."""
    return t._replace(**{name: np.concatenate([getattr(t, name)] * 2) for name in PriorityTrees._fields[:-1]})


@leaf
def has_room(t: PriorityTrees) -> bool:
    """Whether one more point fits."""
    return bool(t.top[FREE] >= 0 or t.top[NODES] < len(t.x))


@leaf
def before(t: PriorityTrees, a: int, b: int) -> bool:
    """Whether a's point comes before b's in the order of the tree."""
    return bool(t.x[a] < t.x[b] or (t.x[a] == t.x[b] and t.y[a] < t.y[b]))


@leaf
def push_down(t: PriorityTrees, node: int, point: int) -> None:
    """Let `node` or one below hold `point`, whose own node is in that subtree."""
    while True:
        if t.q[node] < 0:
            t.q[node] = point
            t.held[point] = node
            return
        if t.y[point] > t.y[t.q[node]]:
            lower = t.q[node]
            t.q[node] = point
            t.held[point] = node
            point = lower
        if point == node:
            t.held[point] = NOT_HELD
            return
        node = t.left[node] if before(t, point, node) else t.right[node]


@leaf
def pull_up(t: PriorityTrees, node: int) -> None:
    """Fill the node's empty place with the highest point below, and so on down."""
    while True:
        best, source = -1, -1
        if t.held[node] == NOT_HELD:
            best = node
        for child in (t.left[node], t.right[node]):
            if child >= 0 and t.q[child] >= 0 and (best < 0 or t.y[t.q[child]] > t.y[best]):
                best, source = t.q[child], child
        t.q[node] = best
        if best < 0:
            return
        t.held[best] = node
        if source < 0:
            return
        node = source


@leaf
def release(t: PriorityTrees, point: int) -> None:
    """Let no node hold `point`, for the time being."""
    holder = t.held[point]
    t.held[point] = FLOATING
    if holder >= 0:
        t.q[holder] = -1
        pull_up(t, holder)


@leaf
def replace(t: PriorityTrees, root: int, old: int, new: int) -> int:
    """Put `new` (or -1) under the parent of `old`; returns the root."""
    parent = t.parent[old]
    if new >= 0:
        t.parent[new] = parent
    if parent < 0:
        return new
    if t.left[parent] == old:
        t.left[parent] = new
    else:
        t.right[parent] = new
    return root


@leaf
def rotate(t: PriorityTrees, root: int, node: int, leftwards: bool) -> int:
    """Rotate at `node`, whose right (leftwards) or left child rises, and mend the heap; returns the root."""
    up, down = (t.right, t.left) if leftwards else (t.left, t.right)
    child = up[node]
    highest, second = t.q[node], t.q[child]
    root = replace(t, root, node, child)
    up[node] = down[child]
    if up[node] >= 0:
        t.parent[up[node]] = node
    down[child] = node
    t.parent[node] = child
    t.q[child] = highest
    if highest >= 0:
        t.held[highest] = child
    t.q[node] = -1
    pull_up(t, node)
    if second >= 0:
        push_down(t, child, second)
    return root


@leaf
def find(t: PriorityTrees, root: int, x: int, y: int) -> int:
    """The node of a point, or -1."""
    node = root
    while node >= 0 and (t.x[node] != x or t.y[node] != y):
        node = t.left[node] if x < t.x[node] or (x == t.x[node] and y < t.y[node]) else t.right[node]
    return node


@leaf
def insert(t: PriorityTrees, root: int, x: int, y: int, item: int) -> int:
    """Add a point that is not there (there is room); returns the root. Mutates the arrays."""
    new = take_number(t.top, NODES, t.left)
    t.x[new], t.y[new], t.item[new] = x, y, item
    t.left[new] = t.right[new] = t.q[new] = -1
    parent, node = -1, root
    while node >= 0:
        parent, node = node, t.left[node] if before(t, new, node) else t.right[node]
    t.parent[new] = parent
    t.red[new] = 1
    if parent < 0:
        root = new
    elif before(t, new, parent):
        t.left[parent] = new
    else:
        t.right[parent] = new
    push_down(t, root, new)
    node = new
    while t.parent[node] >= 0 and t.red[t.parent[node]]:
        parent = t.parent[node]
        above = t.parent[parent]
        inner_is_right = t.left[above] == parent
        uncle = t.right[above] if inner_is_right else t.left[above]
        if uncle >= 0 and t.red[uncle]:
            t.red[parent] = t.red[uncle] = 0
            t.red[above] = 1
            node = above
            continue
        if node == (t.right[parent] if inner_is_right else t.left[parent]):
            root = rotate(t, root, parent, inner_is_right)
            node, parent = parent, node
        t.red[parent] = 0
        t.red[above] = 1
        root = rotate(t, root, above, not inner_is_right)
    t.red[root] = 0
    return root


@leaf
def remove(t: PriorityTrees, root: int, node: int) -> int:
    """Remove a node's point; returns the root. Mutates the arrays. The node may be used again."""
    release(t, node)
    gone, heir = node, -1  # `gone` is the place that leaves the tree; `heir` the node that takes over `node`'s place
    if t.left[node] >= 0 and t.right[node] >= 0:
        gone = t.right[node]
        while t.left[gone] >= 0:
            gone = t.left[gone]
        heir = gone
        release(t, heir)
    orphan = t.q[gone]
    if orphan >= 0:
        t.held[orphan] = FLOATING
        t.q[gone] = -1
    child = t.left[gone] if t.left[gone] >= 0 else t.right[gone]
    parent, was_red = t.parent[gone], t.red[gone]
    root = replace(t, root, gone, child)
    if heir >= 0:
        if parent == node:
            parent = heir
        root = replace(t, root, node, heir)
        t.left[heir], t.right[heir], t.red[heir] = t.left[node], t.right[node], t.red[node]
        for below in (t.left[heir], t.right[heir]):
            if below >= 0:
                t.parent[below] = heir
        t.q[heir] = t.q[node]
        if t.q[heir] >= 0:
            t.held[t.q[heir]] = heir
        push_down(t, root, heir)
    if orphan >= 0:
        push_down(t, root, orphan)
    give_number(t.top, NODES, t.left, node)
    return root if was_red else recolour(t, root, child, parent)


@leaf
def recolour(t: PriorityTrees, root: int, node: int, parent: int) -> int:
    """Make up for a black node lost above `node` (perhaps -1), a child of `parent`; returns the root."""
    while node != root and (node < 0 or not t.red[node]):
        on_left = t.left[parent] == node
        sibling = t.right[parent] if on_left else t.left[parent]
        if t.red[sibling]:
            t.red[sibling] = 0
            t.red[parent] = 1
            root = rotate(t, root, parent, on_left)
            sibling = t.right[parent] if on_left else t.left[parent]
        near = t.left[sibling] if on_left else t.right[sibling]
        far = t.right[sibling] if on_left else t.left[sibling]
        if (near < 0 or not t.red[near]) and (far < 0 or not t.red[far]):
            t.red[sibling] = 1
            node, parent = parent, t.parent[parent]
            continue
        if far < 0 or not t.red[far]:
            t.red[near] = 0
            t.red[sibling] = 1
            root = rotate(t, root, sibling, not on_left)
            far, sibling = sibling, near
        t.red[sibling] = t.red[parent]
        t.red[parent] = 0
        t.red[far] = 0
        root = rotate(t, root, parent, on_left)
        node = root
    if node >= 0:
        t.red[node] = 0
    return root


@leaf
def search(t: PriorityTrees, root: int, a: int, b: int, stack: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    """Items of all points with x <= a and y >= b into `out` (int32, as many as there may be); returns how many.

    `stack` int32[n]: scratch, at least twice the height (128 does for any tree that fits in memory)."""
    found = depth = 0
    if root >= 0:
        stack[0], depth = root, 1
    while depth:
        depth -= 1
        node = stack[depth]
        point = t.q[node]
        if point < 0 or t.y[point] < b:
            continue
        if t.x[point] <= a:
            out[found] = t.item[point]
            found += 1
        if t.held[node] == NOT_HELD and t.x[node] <= a and t.y[node] >= b:
            out[found] = t.item[node]
            found += 1
        if t.right[node] >= 0 and t.x[node] <= a:
            stack[depth] = t.right[node]
            depth += 1
        if t.left[node] >= 0:
            stack[depth] = t.left[node]
            depth += 1
    return found
