"""One tree per event: its own values and *."""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.candidates.presence.forest import Forest, child_with
from tamis.candidates.presence.literals import block, partly_satisfied, satisfied
from tamis.candidates.rows import Columns, newly_matched
from tamis.candidates.verify import gather, scatter
from tamis.encoding.keys import Int32Array, Int64Array


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
def holds_below(
    f: Forest, c: Columns, leading: Int32Array, node: int, reached: int, lo: int, hi: int, end: Int32Array
) -> bool:
    """Whether the label of `node` holds beyond its first literal, which does."""
    if f.end[node] - reached == 1:
        return True
    if f.zeros[node] < 0 and f.ones[node] < 0:  # a leaf: its row's literals outside the label hold anyway
        return satisfied(c, leading, f.row[node], end)
    return partly_satisfied(c, leading, f.row[node], lo, hi, f.end[node], end)


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
                if newly_matched(c, row, native[row], e, event_keys, begin, end, last_event):
                    out = grown(out, n + 1)
                    out[n] = c.owners[row]
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
