"""Restricted search trees over presence: the structure behind TreeMatch and RAPIDMatch.

Property i of an event is "attribute i is present". A conjunction asks 1 of every attribute it constrains, 0 of those it
wants missing and nothing (*) of the others; its *literals* are those ones and zeros in the order of properties. A search
tree tests properties in a fixed order, and an event follows its own value and *. Here chains of * are left out and paths
without a fork are compressed, so a node stands for a run of literals, read from any one row below it (`row`), and an edge
is known by its first literal. A tree is a function of the rows it holds: no order of changes leaves a trace.

RAPIDMatch(c) keeps a forest. For an event with t <= c ones, split the k properties into t+1 consecutive blocks: one has
no 1. Tree (t, j) holds the rows with at most t ones, at least t ones or stars, and no 1 in block j, which such an event
satisfies in all of block j; so the tree leaves the block out, and starts after it. The last tree holds the rows that can
match an event with more than c ones, on all properties. With c = -1 only that tree is left, and it is TreeMatch.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.slots import Slots, drop, first_slot, mix, new_slots, put, with_room
from tamis.arrays.slots import has_room as room_in
from tamis.candidates.rows import Columns, Rows, arranged, contradictory, longer
from tamis.candidates.verify import conjunction_holds, gather, scatter
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import KEY_MAX, KEY_MIN, Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import IN, MISSING, SubscriptionTable

WIDE = 24  # from this many 1-edges on a node's edges are found by hash
NODES, FREE_NODE, ITEMS, FREE_ITEM, LIVE = range(5)


class Forest(NamedTuple):
    """Nodes of all trees. Per node (int32): `lit` first literal of its label (2 * attribute + value), `end` literals from
    the root to its end, `row` a row below it, `zeros`/`ones` first child by the value of its first literal, `next`
    sibling, `items` first item, `width` number of 1-children, or -1 - that number once the node is wide.
    An item is a row that ends at a node: `item_row`, `item_next`. `roots` int32[trees], `held` int64[trees] rows per
    tree, `top` int64[5] the counters named above; `wide` finds the 1-children of wide nodes by (node, literal)."""

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
        top=np.array([trees, -1, 0, -1, trees], np.int64),
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


class PresenceForest:
    """The trees with the rows they hold, and counters of the work done: all that `tree` and `rapid` need."""

    def __init__(self, table: SubscriptionTable, light: int) -> None:
        self.light, self.k = light, len(table.dictionary)
        self.rows = Rows()
        self.trees = new_forest(light)
        self.leading = np.empty(0, np.int32)
        self.native = np.empty(0, np.bool_)
        self.events = self.matches = self.visited = self.checked = self.rebuilds = 0
        self.add(table)

    @property
    def nodes(self) -> int:
        """Nodes in use, the root of each tree among them."""
        return int(self.trees.top[LIVE])

    @property
    def nbytes(self) -> int:
        """Bytes of rows and trees."""
        return self.rows.nbytes + self.trees.nbytes + self.leading.nbytes + self.native.nbytes

    def add(self, table: SubscriptionTable) -> None:
        """Insert all conjunctions into the trees they belong to."""
        needed = int(table.attrs.max(initial=-1)) + 1
        grows = needed > self.k
        if grows:
            self.k = max(needed, self.k + self.k // 4)
        by_id = np.arange(needed, dtype=np.int64)
        ordered, leading = arranged(table, by_id, absence=True)
        leading[contradictory(table)] = -1
        rows = self.rows.add(ordered)
        self.leading = longer(self.leading, self.rows.used)
        self.native = longer(self.native, self.rows.used)
        self.leading[rows] = leading
        pure(self.rows.columns, rows, self.native)
        if grows and self.light >= 0 and len(rows) < self.rows.live:  # other blocks, other trees
            self.trees, rows = new_forest(self.light), self.rows.live_rows()
            self.rebuilds += 1
        progress = np.zeros(3, np.int64)
        while not plant_all(self.trees, self.rows.columns, self.leading, rows, self.light, self.k, progress):
            self.trees = enlarged(self.trees)

    def drop(self, ids: Int32Array) -> None:
        """Remove all conjunctions of these subscriptions."""
        rows = self.rows.drop(ids)
        uproot_all(self.trees, self.rows.columns, self.leading, rows, self.light, self.k)

    def match(self, events: EventBatch) -> MatchSet:
        """Search one tree per event."""
        given = (events.offsets, events.attrs, events.keys)
        fixed = (self.trees, self.rows.columns, self.leading, self.native, self.light, self.k)
        offsets, ids, work = search(*fixed, *given, self.rows.repeating)
        self.events += len(events)
        self.matches += len(ids)
        self.visited += int(work[0])
        self.checked += int(work[1])
        return MatchSet(offsets, ids)


@leaf
def literal(c: Columns, row: int, i: int) -> int:
    """The i-th literal of a row: its leading predicates are one per attribute, ascending."""
    p = c.first[row] + i
    return 2 * c.attrs[p] + (c.ops[p] != MISSING)


@leaf
def sequence(c: Columns, row: int, count: int, lo: int, hi: int) -> tuple[int, int]:
    """(first, length) of the row's literals in cyclic order after the block of properties lo:hi, which is left out."""
    below = inside = 0
    for i in range(count):
        a = c.attrs[c.first[row] + i]
        below += a < lo
        inside += lo <= a < hi
    return below + inside, count - inside


@leaf
def cyclic(c: Columns, row: int, count: int, first: int, i: int) -> int:
    """Literal i of the sequence that starts at literal `first`."""
    at = first + i
    return literal(c, row, at - count if at >= count else at)


@leaf
def block(tree: int, t: int, k: int) -> tuple[int, int]:
    """Properties lo:hi of the block that tree (t, j) leaves out; `tree` is its index in the forest."""
    j = tree - t * (t + 1) // 2
    return j * k // (t + 1), (j + 1) * k // (t + 1)


@leaf
def belongs(c: Columns, row: int, count: int, t: int, light: int, lo: int, hi: int, k: int) -> bool:
    """Whether a row stands in tree (t, block lo:hi); t = light + 1 means the last tree."""
    ones = 0
    for p in range(c.first[row], c.first[row] + count):
        if c.ops[p] != MISSING:
            ones += 1
            if lo <= c.attrs[p] < hi:
                return False
    stars_and_ones = k - (count - ones)
    return stars_and_ones > light if t > light else ones <= t <= stars_and_ones


@leaf
def child_with(f: Forest, node: int, lit: int) -> int:
    """The child whose label begins with `lit`, or -1."""
    if lit & 1 and f.width[node] < 0:
        h = mix(node, lit)
        slot = first_slot(f.wide, h)
        while f.wide.items[slot] >= 0:
            child = f.wide.items[slot]
            if f.wide.hashes[slot] == h and f.lit[child] == lit:
                return int(child)
            slot = (slot + 1) & (len(f.wide.items) - 1)
        return -1
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
    node = int(f.top[FREE_NODE])
    if node >= 0:
        f.top[FREE_NODE] = f.next[node]
    else:
        node = int(f.top[NODES])
        f.top[NODES] += 1
    f.top[LIVE] += 1
    f.lit[node], f.end[node], f.row[node] = lit, end, row
    f.zeros[node] = f.ones[node] = f.next[node] = f.items[node] = -1
    f.width[node] = 0
    return node


@leaf
def free_node(f: Forest, node: int) -> None:
    """Give a node back."""
    f.next[node] = f.top[FREE_NODE]
    f.top[FREE_NODE] = node
    f.top[LIVE] -= 1


@leaf
def add_item(f: Forest, node: int, row: int) -> None:
    """Let `row` end at `node`; there is room."""
    item = f.top[FREE_ITEM]
    if item >= 0:
        f.top[FREE_ITEM] = f.item_next[item]
    else:
        item = f.top[ITEMS]
        f.top[ITEMS] += 1
    f.item_row[item] = row
    f.item_next[item] = f.items[node]
    f.items[node] = item


@leaf
def has_room(f: Forest) -> bool:
    """Whether one more row fits in any tree: two nodes, one item, and the edges of a node that becomes wide."""
    nodes = f.top[NODES] + 2 <= len(f.lit)
    items = f.top[ITEMS] + 1 <= len(f.item_row)
    return nodes and items and room_in(f.wide, 2 * WIDE)


@leaf
def plant(f: Forest, tree: int, c: Columns, leading: Int32Array, row: int, lo: int, hi: int) -> None:
    """Insert a row into one tree that leaves out properties lo:hi. Mutates the forest, which has room."""
    count = leading[row]
    first, length = sequence(c, row, count, lo, hi)
    f.held[tree] += 1
    node, depth = int(f.roots[tree]), 0
    while depth < length:
        lit = cyclic(c, row, count, first, depth)
        child = child_with(f, node, lit)
        if child < 0:
            child = new_node(f, lit, length, row)
            link(f, node, child)
            node = child
            break
        other = f.row[child]
        other_count = leading[other]
        other_first, _ = sequence(c, other, other_count, lo, hi)
        end = f.end[child]
        i = depth + 1
        while i < min(end, length) and cyclic(c, other, other_count, other_first, i) == cyclic(c, row, count, first, i):
            i += 1
        if i < end:  # they part inside the label: a node for what is common
            unlink(f, node, child)
            fork = new_node(f, lit, i, other)
            link(f, node, fork)
            f.lit[child] = cyclic(c, other, other_count, other_first, i)
            link(f, fork, child)
            child = fork
        node, depth = child, i
    add_item(f, node, row)


@kernel
def uproot(f: Forest, tree: int, c: Columns, leading: Int32Array, row: int, lo: int, hi: int) -> None:
    """Remove a row from a tree that holds it; mutates the forest. Nodes left without purpose go or merge."""
    count = leading[row]
    first, length = sequence(c, row, count, lo, hi)
    f.held[tree] -= 1
    path = np.empty(length + 1, np.int64)
    path[0] = f.roots[tree]
    steps = depth = 0
    while depth < length:
        child = child_with(f, path[steps], cyclic(c, row, count, first, depth))
        steps += 1
        path[steps] = child
        depth = f.end[child]
    node = path[steps]
    item = f.items[node]
    if f.item_row[item] == row:
        f.items[node] = f.item_next[item]
    else:
        while f.item_row[f.item_next[item]] != row:
            item = f.item_next[item]
        gone = f.item_next[item]
        f.item_next[item] = f.item_next[gone]
        item = gone
    f.item_next[item] = f.top[FREE_ITEM]
    f.top[FREE_ITEM] = item
    for step in range(steps, 0, -1):
        node, parent = path[step], path[step - 1]
        child = f.zeros[node] if f.zeros[node] >= 0 else f.ones[node]
        if f.items[node] >= 0:
            f.row[node] = f.item_row[f.items[node]]
        elif child < 0:
            unlink(f, parent, node)
            free_node(f, node)
        elif f.next[child] < 0 and (f.zeros[node] < 0 or f.ones[node] < 0):
            unlink(f, node, child)
            unlink(f, parent, node)
            f.lit[child] = f.lit[node]
            link(f, parent, child)
            free_node(f, node)
        else:
            f.row[node] = f.row[child]


@kernel
def plant_all(
    f: Forest, c: Columns, leading: Int32Array, rows: Int32Array, light: int, k: int, progress: Int64Array
) -> bool:
    """Insert rows into every tree they belong to, tree by tree from progress = (t, tree, i); False: no room, go on later.

    Rows whose literals contradict each other have leading < 0 and stand nowhere."""
    while progress[0] <= light + 1:
        t, tree = progress[0], progress[1]
        lo, hi = block(tree, t, k) if t <= light else (0, 0)
        for i in range(progress[2], len(rows)):
            row = rows[i]
            if leading[row] < 0 or not belongs(c, row, leading[row], t, light, lo, hi, k):
                continue
            if not has_room(f):
                progress[2] = i
                return False
            plant(f, tree, c, leading, row, lo, hi)
        progress[1] += 1
        progress[2] = 0
        if progress[1] == (t + 1) * (t + 2) // 2 or t > light:
            progress[0] += 1
    return True


@kernel
def uproot_all(f: Forest, c: Columns, leading: Int32Array, rows: Int32Array, light: int, k: int) -> None:
    """Remove rows from every tree they belong to; mutates the forest."""
    for row in rows:
        if leading[row] < 0:
            continue
        tree = 0
        for t in range(light + 2):
            for _ in range(t + 1 if t <= light else 1):
                lo, hi = block(tree, t, k) if t <= light else (0, 0)
                if belongs(c, row, leading[row], t, light, lo, hi, k):
                    uproot(f, tree, c, leading, row, lo, hi)
                tree += 1


@kernel
def pure(c: Columns, rows: Int32Array, native: NDArray[np.bool_]) -> None:
    """Mark the rows that ask for presence and absence only: reaching them is matching them. Mutates native bool[rows]."""
    for row in rows:
        native[row] = True
        for p in range(c.first[row], c.last[row]):
            if c.ops[p] != MISSING and not (c.ops[p] == IN and c.lo[p] == KEY_MIN and c.hi[p] == KEY_MAX):
                native[row] = False


@leaf
def tree_for(f: Forest, attrs: Int32Array, first: int, last: int, light: int, k: int) -> int:
    """The tree to search for the event with pairs first:last: the smallest among those of blocks without a 1."""
    t = 0
    for i in range(first, last):
        t += attrs[i] < k and (i == first or attrs[i] != attrs[i - 1])
    if t > light:
        return len(f.roots) - 1
    best, at = -1, first
    for j in range(t + 1):
        lo, hi = j * k // (t + 1), (j + 1) * k // (t + 1)
        while at < last and attrs[at] < lo:
            at += 1
        tree = t * (t + 1) // 2 + j
        if (at == last or attrs[at] >= hi) and (best < 0 or f.held[tree] < f.held[best]):
            best = tree
    return best


@leaf
def satisfied(c: Columns, leading: Int32Array, row: int, end: Int32Array) -> bool:
    """Whether all literals of a row hold for the scattered event."""
    for p in range(c.first[row], c.first[row] + leading[row]):  # noqa: SIM110 (a kernel has no generators)
        if (end[c.attrs[p]] > 0) != (c.ops[p] != MISSING):
            return False
    return True


@leaf
def partly_satisfied(c: Columns, leading: Int32Array, row: int, lo: int, hi: int, length: int, end: Int32Array) -> bool:
    """Whether the first `length` literals of a row's sequence hold for the scattered event."""
    count = leading[row]
    first, _ = sequence(c, row, count, lo, hi)
    for i in range(length):
        lit = cyclic(c, row, count, first, i)
        if (end[lit >> 1] > 0) != (lit & 1 > 0):
            return False
    return True


@kernel
def search(
    f: Forest,
    c: Columns,
    leading: Int32Array,
    native: NDArray[np.bool_],
    light: int,
    k: int,
    event_offsets: Int64Array,
    event_attrs: Int32Array,
    event_keys: Int64Array,
    highest: int,
) -> tuple[Int64Array, Int32Array, Int64Array]:
    """All events (paper 001, section 4.2). Returns CSR (offsets int64[n+1], owners int32[m]) and the work done: int64[2]
    nodes visited, rows checked. `highest` > 0: owners lie below it and may have several rows. Reads only."""
    begin, end = np.zeros(k, np.int32), np.zeros(k, np.int32)
    last_event = np.full(highest, -1, np.int64)
    out, n = np.empty(1024, np.int32), 0
    out_offsets = np.zeros(len(event_offsets), np.int64)
    stack = np.empty(1024, np.int32)
    work = np.zeros(2, np.int64)
    for e in range(len(event_offsets) - 1):
        first, last = event_offsets[e], event_offsets[e + 1]
        scatter(event_attrs, first, last, begin, end)
        tree = tree_for(f, event_attrs, first, last, light, k)
        t = 0
        while (t + 1) * (t + 2) // 2 <= tree:
            t += 1
        lo, hi = block(tree, t, k) if tree < len(f.roots) - 1 else (0, 0)
        stack[0], depth = f.roots[tree], 1
        while depth:
            depth -= 1
            node = stack[depth]
            work[0] += 1
            item = f.items[node]
            while item >= 0:
                row = f.item_row[item]
                work[1] += 1
                owner = c.owners[row]
                if (highest == 0 or last_event[owner] != e) and (
                    native[row]
                    or conjunction_holds(
                        c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets, event_keys, begin, end
                    )
                ):
                    if highest:
                        last_event[owner] = e
                    out = grown(out, n + 1)
                    out[n] = owner
                    n += 1
                item = f.item_next[item]
            reached = f.end[node]
            ones = f.width[node]
            for value in range(2):
                if value and ones < -1 - (last - first):  # more edges than attributes: look those up
                    i = first
                    while i < last:
                        a = event_attrs[i]
                        child = child_with(f, node, 2 * a + 1) if a < k else -1
                        if child >= 0 and holds_below(f, c, leading, child, reached, lo, hi, end):
                            stack = grown(stack, depth + 1)
                            stack[depth] = child
                            depth += 1
                        i += 1
                        while i < last and event_attrs[i] == a:
                            i += 1
                    continue
                each = f.ones[node] if value else f.zeros[node]
                while each >= 0:
                    if (end[f.lit[each] >> 1] > 0) == (value == 1) and holds_below(
                        f, c, leading, each, reached, lo, hi, end
                    ):
                        stack = grown(stack, depth + 1)
                        stack[depth] = each
                        depth += 1
                    each = f.next[each]
        gather(event_attrs, first, last, begin, end)
        out_offsets[e + 1] = n
    return out_offsets, out[:n].copy(), work


@leaf
def holds_below(
    f: Forest, c: Columns, leading: Int32Array, node: int, reached: int, lo: int, hi: int, end: Int32Array
) -> bool:
    """Whether the label of `node` holds beyond its first literal, which does."""
    if f.end[node] - reached == 1:
        return True
    if f.zeros[node] < 0 and f.ones[node] < 0:  # a leaf: its row's literals outside the label hold anyway
        return satisfied(c, leading, f.row[node], end)
    return partly_satisfied(c, leading, f.row[node], lo, hi, f.end[node], end)
