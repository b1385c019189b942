"""An event visits the partitions of its attributes and the halves its values touch."""

import numpy as np

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel
from tamis.candidates.cutting.domains import Domains, position
from tamis.candidates.cutting.nodes import ROOT, Cuts, partition
from tamis.candidates.rows import Columns, newly_matched
from tamis.candidates.verify import gather, scatter
from tamis.encoding.keys import Int32Array, Int64Array


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
                if newly_matched(c, row, False, e, event_keys, begin, end, last_event):
                    out = grown(out, n + 1)
                    out[n] = c.owners[row]
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
