"""The order events are matched in, and putting matches together."""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.simd import LANES
from tamis.candidates.keyed.index import index_view
from tamis.encoding.keys import Int32Array, Int64Array

LARGE = 2048
"""Items of records and columns from which a cluster is worth keeping in the cache for the next event."""


@kernel
def by_cluster(
    handle: Int64Array, event_offsets: Int64Array, slots: Int32Array, codes: NDArray[np.uint32]
) -> Int32Array:
    """The events, int32[n], with those that hit the same largest cluster of a value next to each other."""
    index = index_view(handle)
    values, starts, records, columns = (
        index.keys.values,
        index.narrow.starts,
        index.narrow.records,
        index.narrow.block_starts,
    )
    largest = np.zeros(len(event_offsets) - 1, np.int64)
    for e in range(len(largest)):
        most = LARGE
        for i in range(event_offsets[e], event_offsets[e + 1]):
            if slots[i] < 0 or values[slots[i]] < 0:
                continue
            cluster = values[slots[i]] + codes[i]
            start = starts[cluster]
            size = np.int64(starts[cluster + 1]) - start
            if size > 0 and records[start] == 255:
                first = records[start + 1] | records[start + 2] << 16
                last = first + (records[start + 3] | records[start + 4] << 16)
                size += LANES * (np.int64(columns[last]) - np.int64(columns[first]))
            if size > most:
                most, largest[e] = size, cluster
    return np.argsort(largest, kind="mergesort").astype(np.int32)


@kernel
def in_order(
    order: Int32Array, offsets: Int64Array, ids: Int32Array, start: int, ends: Int64Array, sorted_ids: Int32Array
) -> None:
    """Write the matches of the events order[0], order[1], …, ids[offsets[k]:offsets[k+1]], as those of the events 0, 1, … to
    sorted_ids[start:], and where those of each event end to ends int64[n]."""
    for k in range(len(order)):
        ends[order[k]] = offsets[k + 1] - offsets[k]
    at = start
    for e in range(len(order)):
        at += ends[e]
        ends[e] = at
    for k in range(len(order)):
        count = offsets[k + 1] - offsets[k]
        at = ends[order[k]] - count
        sorted_ids[at : at + count] = ids[offsets[k] : offsets[k + 1]]


@kernel
def add_matches(
    offsets: Int64Array, ids: Int32Array, more_offsets: Int64Array, more_ids: Int32Array
) -> tuple[Int64Array, Int32Array]:
    """Two sets of matches of the same events as one; no id may be in both for an event."""
    all_ids = np.empty(len(ids) + len(more_ids), np.int32)
    for e in range(len(offsets) - 1):
        at, middle = offsets[e] + more_offsets[e], offsets[e + 1] + more_offsets[e]
        all_ids[at:middle] = ids[offsets[e] : offsets[e + 1]]
        all_ids[middle : middle + more_offsets[e + 1] - more_offsets[e]] = more_ids[
            more_offsets[e] : more_offsets[e + 1]
        ]
    return offsets + more_offsets, all_ids
