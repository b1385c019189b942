"""Rows come and go: a path each, in every tree they belong to."""

import numpy as np

from tamis.arrays.jit import kernel, leaf
from tamis.arrays.numbers import give_number
from tamis.candidates.presence.forest import (
    ITEMS,
    Forest,
    add_item,
    child_with,
    free_node,
    has_room,
    link,
    new_node,
    unlink,
)
from tamis.candidates.presence.literals import belongs, block, cyclic, sequence
from tamis.candidates.rows import Columns
from tamis.encoding.keys import Int32Array, Int64Array


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


@leaf
def end_of(f: Forest, tree: int, c: Columns, leading: Int32Array, row: int, lo: int, hi: int) -> int:
    """The node where a row of a tree ends."""
    count = leading[row]
    first, length = sequence(c, row, count, lo, hi)
    node, depth = int(f.roots[tree]), 0
    while depth < length:
        node = child_with(f, node, cyclic(c, row, count, first, depth))
        depth = f.end[node]
    return node


@leaf
def sweep(f: Forest, c: Columns, node: int) -> None:
    """Take the items of removed rows, which have no owner any more, off a node."""
    before, item = -1, f.items[node]
    while item >= 0:
        after = f.item_next[item]
        if c.owners[f.item_row[item]] >= 0:
            before = item
        else:
            if before < 0:
                f.items[node] = after
            else:
                f.item_next[before] = after
            give_number(f.top, ITEMS, f.item_next, item)
        item = after


@kernel
def prune(f: Forest, tree: int, c: Columns, leading: Int32Array, row: int, lo: int, hi: int) -> None:
    """Nodes on the path of a removed row that are left without purpose go or merge, the others name a row they still hold.

    What other removed rows leave to do below does no harm: their own paths lead through here again. Mutates the forest."""
    count = leading[row]
    first, length = sequence(c, row, count, lo, hi)
    path = np.empty(length + 1, np.int64)
    path[0] = f.roots[tree]
    steps = depth = 0
    while depth < length:
        child = child_with(f, path[steps], cyclic(c, row, count, first, depth))
        if child < 0:  # gone with the path of another
            break
        steps += 1
        path[steps] = child
        depth = f.end[child]
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
def uproot_all(f: Forest, c: Columns, leading: Int32Array, rows: Int32Array, light: int, k: int) -> None:
    """Remove rows, whose owners are -1 by now, from every tree they belong to; mutates the forest.

    Each node where some of them end is swept once, however many there are."""
    ends, chosen = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    tree = 0
    for t in range(light + 2):
        for _ in range(t + 1 if t <= light else 1):
            lo, hi = block(tree, t, k) if t <= light else (0, 0)
            n = 0
            for row in rows:
                if leading[row] >= 0 and belongs(c, row, leading[row], t, light, lo, hi, k):
                    ends[n], chosen[n] = end_of(f, tree, c, leading, row, lo, hi), row
                    n += 1
            f.held[tree] -= n
            order = np.argsort(ends[:n], kind="mergesort")
            distinct = 0
            for i in range(n):
                if i == 0 or ends[order[i]] != ends[order[i - 1]]:
                    sweep(f, c, ends[order[i]])
                    order[distinct] = order[i]
                    distinct += 1
            for i in range(distinct):
                prune(f, tree, c, leading, chosen[order[i]], lo, hi)
            tree += 1
