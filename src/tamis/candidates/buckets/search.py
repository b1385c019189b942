"""An event visits the structures of its attributes and the buckets D names, down to the last (figure 2)."""

import numpy as np

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel
from tamis.candidates.buckets.cells import candidates
from tamis.candidates.buckets.layout import BUCKETS, HEADER, LARGEST, Structures, structure_at
from tamis.candidates.buckets.ways import Ways, buckets_found
from tamis.candidates.rows import Columns, newly_matched
from tamis.candidates.verify import gather, scatter
from tamis.encoding.keys import Int32Array, Int64Array


@kernel
def search(
    s: Structures,
    w: Ways,
    c: Columns,
    ordered: bool,
    event_offsets: Int64Array,
    event_attrs: Int32Array,
    event_keys: Int64Array,
    highest: int,
) -> tuple[Int64Array, Int32Array, Int64Array]:
    """All events (figure 2). Returns CSR (offsets int64[n+1], owners int32[m]) and the work done: int64[3] structures and
    buckets visited, rows checked. `highest` > 0: owners lie below it and may come up several times. Reads only."""
    attributes = len(w.kind)
    begin, end = np.zeros(attributes, np.int32), np.zeros(attributes, np.int32)
    low, high = np.empty(attributes, np.int64), np.empty(attributes, np.int64)
    last_event = np.full(highest, -1, np.int64)
    out, n = np.empty(1024, np.int32), 0
    out_offsets = np.zeros(len(event_offsets), np.int64)
    stack = np.empty(1024, np.int32)
    nodes, cells = np.empty(256, np.int32), np.empty(128, np.int64)
    rows, found = np.empty(s.top[LARGEST] + 1, np.int32), np.empty(s.top[BUCKETS] + 1, np.int32)
    work = np.zeros(3, np.int64)
    for e in range(len(event_offsets) - 1):
        first, last = event_offsets[e], event_offsets[e + 1]
        scatter(event_attrs, first, last, begin, end)
        for i in range(first, last):
            a = event_attrs[i]
            if a < attributes:
                low[a] = event_keys[i] if i == begin[a] else min(low[a], event_keys[i])
                high[a] = event_keys[i] if i == begin[a] else max(high[a], event_keys[i])
        stack[0], depth = HEADER, 1
        while depth:
            depth -= 1
            b = stack[depth]
            work[1] += 1
            count = candidates(s, b, ordered, event_attrs, first, last, end, low, high, rows)
            work[2] += count
            for i in range(count):
                row = rows[i]
                if newly_matched(c, row, False, e, event_keys, begin, end, last_event):
                    out = grown(out, n + 1)
                    out[n] = c.owners[row]
                    n += 1
            if s.b_width[b] == 0:
                continue
            by_event = s.b_width[b] > last - first
            z, i = s.b_below[b], first
            while i < last if by_event else z >= 0:
                if by_event:
                    a = event_attrs[i]
                    i += 1
                    while i < last and event_attrs[i] == a:
                        i += 1
                    at = structure_at(s, b, a) if a < attributes else -1
                else:
                    a, at = s.z_attr[z], z
                    z = s.z_next[z]
                if at >= 0 and end[a] > 0:
                    work[0] += 1
                    count = buckets_found(s, w, at, event_keys, begin[a], end[a], low[a], high[a], nodes, cells, found)
                    stack = grown(stack, depth + count)
                    for j in range(count):
                        stack[depth + j] = found[j]
                    depth += count
        gather(event_attrs, first, last, begin, end)
        out_offsets[e + 1] = n
    return out_offsets, out[:n].copy(), work
