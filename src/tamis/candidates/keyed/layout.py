"""How clusters lie in memory: one stream of records, and blocks of 32 conjunctions compared together.

Both exist for 16-bit and for 32-bit items; a conjunction is *narrow* when its slots, codes and counts fit 16 bits. A record is

    simple | complex << half,  total | copy << half,  owner (16 bits),  owner (16 bits, the top one: shared),
    (slot, lo, hi) × total,  codes of the predicates, four to an item

where `half` is half an item's bits. The `simple` predicates are tests lo <= code <= hi; `complex` ones follow (for sets, lo and
hi hold the number of the set); the last ones, up to `total`, are implied by the key and only tested when an attribute has
several values. A record that starts with `half` ones refers to blocks instead: their first (16 + 16 bits) and count (16 + 16).
"""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.arrays.simd import LANES
from tamis.encoding.keys import Int32Array

Item = TypeVar("Item", np.uint16, np.uint32)
HEAD, TRIPLE, PACKED, BLOCK_RECORD = 4, 3, 4, 5
SHARED = -(2**31)
MOST_NARROW = 250


class Clusters(NamedTuple, Generic[Item]):
    """Cluster c is records[starts[c]:starts[c+1]] (starts uint32[clusters+1], empty when there is nothing at all).

    Block b compares columns block_columns[b]:block_columns[b+1] (uint32[b+1]) for the lanes of block_live (uint32[b]), whose
    owners are block_owners[32 b:32 b+32] (int32, negative: shared). block_keys int32[3 b]: slot, lo, hi of the equality that
    the key implies, slot -1 for none. Column k tests slot column_slots[k] (uint32) by op column_ops[k] (uint8). What a block
    compares with begins at columns[32 block_starts[b]] (uint32[b+1]): its first block_equal[b] (uint8[b]) columns ask for one
    value each, 32 items, where 0 is no test in this lane; the others have 32 lows and then 32 highs, where 0 and the largest
    item are no test.
    """

    starts: NDArray[np.uint32]
    records: NDArray[Item]
    block_columns: NDArray[np.uint32]
    block_starts: NDArray[np.uint32]
    block_equal: NDArray[np.uint8]
    block_live: NDArray[np.uint32]
    block_owners: Int32Array
    block_keys: Int32Array
    column_slots: NDArray[np.uint32]
    column_ops: NDArray[np.uint8]
    columns: NDArray[Item]


@leaf
def record_length(total: int) -> int:
    """Items of a record with this many predicates."""
    return HEAD + TRIPLE * total + (total + PACKED - 1) // PACKED


@leaf
def lane_test(clusters: Clusters[Item], b: int, k: int, lane: int) -> tuple[int, int]:
    """The lowest and the highest code that column k of block b lets pass in a lane; (0, more than 0): all."""
    j, equal = np.int64(k) - np.int64(clusters.block_columns[b]), np.int64(clusters.block_equal[b])
    at = LANES * (np.int64(clusters.block_starts[b]) + j + (j - equal if j > equal else 0)) + lane
    low = int(clusters.columns[at])
    if j < equal:
        return low, low if low else 1
    return low, int(clusters.columns[at + LANES])


def aligned(length: int, kind: type[np.generic]) -> NDArray[np.generic]:
    """An uninitialised array that starts at a cache line, so that no column straddles two."""
    size = np.dtype(kind).itemsize
    raw = np.empty(length * size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + length * size].view(kind)
