"""Testing clusters for an event with several values of one attribute: every predicate by its own code, one by one."""

import numpy as np

from tamis.arrays.jit import leaf
from tamis.arrays.simd import LANES
from tamis.candidates.keyed.layout import BLOCK_RECORD, HEAD, PACKED, TRIPLE, Clusters, Item, lane_test, record_length
from tamis.candidates.keyed.verify import UInt32Array, several_hold
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.predicates.ranks import Ranks


@leaf
def verify_several(
    clusters: Clusters[Item],
    at: int,
    stop: int,
    begin: Int32Array,
    end: Int32Array,
    codes: UInt32Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
    ranks: Ranks,
    out: Int32Array,
    n: int,
    counters: Int64Array,
) -> int:
    """Append to out[n:] the owners of everything in records at:stop that holds; returns the new n, or -1 when full.

    begin/end int32[slots]: the slice of `codes` that holds the event's codes of a slot.
    """
    records = clusters.records
    half = 4 * records.itemsize
    low = (1 << half) - 1
    while at < stop:
        if records[at] & low == low and records[at] >> half == 0:
            first = records[at + 1] | records[at + 2] << 16
            count = records[at + 3] | records[at + 4] << 16
            for b in range(first, first + count):
                for lane in range(LANES):
                    if clusters.block_live[b] >> np.uint32(lane) & np.uint32(1) == 0:
                        continue
                    counters[0] += 1
                    holds = True
                    for k in range(clusters.block_columns[b], clusters.block_columns[b + 1]):
                        lo, hi = lane_test(clusters, b, k, lane)
                        s = clusters.column_slots[k]
                        if (lo != 0 or hi == 0) and not several_hold(
                            clusters.column_ops[k], lo, hi, codes, begin[s], end[s], set_starts, set_codes,
                            ranks.bounds, ranks.starts[s], ranks.starts[s + 1],
                        ):  # fmt: skip
                            holds = False
                            break
                    if holds:
                        if n >= len(out):
                            return -1
                        out[n] = clusters.block_owners[LANES * b + lane]
                        n += 1
            at += BLOCK_RECORD
            continue
        total = records[at + 1] & low
        counters[0] += 1
        holds = True
        for k in range(total):
            p = at + HEAD + TRIPLE * k
            op = records[at + HEAD + TRIPLE * total + k // PACKED] >> (4 * (k % PACKED)) & 15
            s = records[p]
            if not several_hold(
                op, records[p + 1], records[p + 2], codes, begin[s], end[s], set_starts, set_codes,
                ranks.bounds, ranks.starts[s], ranks.starts[s + 1],
            ):  # fmt: skip
                holds = False
                break
        if holds:
            if n >= len(out):
                return -1
            out[n] = np.int32(np.uint32(records[at + 2]) | np.uint32(records[at + 3]) << np.uint32(16))
            n += 1
        at += record_length(total)
    return n
