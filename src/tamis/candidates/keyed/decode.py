"""An index back as a table: what a merge starts from, so that nothing but the index has to be kept."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.simd import LANES
from tamis.candidates.keyed.coded import BETWEEN
from tamis.candidates.keyed.index import Index
from tamis.candidates.keyed.layout import BLOCK_RECORD, HEAD, PACKED, TRIPLE, Clusters, Item, lane_test, record_length
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, Int32Array, Int64Array
from tamis.encoding.subscriptions import FIRST_SET, IN, MISSING, SubscriptionTable
from tamis.predicates.ranks import Ranks, key_range


def decode_index(index: Index, dead: NDArray[np.uint8], dictionary: Dictionary) -> SubscriptionTable:
    """All conjunctions whose owner is not dead (a bit per owner)."""
    parts = []
    pools: tuple[Clusters[Any], ...] = (index.narrow, index.wide)
    for clusters in pools:
        if len(clusters.starts):
            columns = decode(clusters, index.ranks, index.set_starts, index.set_codes, dead)
            parts.append(SubscriptionTable(*columns, dictionary))
    return SubscriptionTable.concat(parts) if parts else SubscriptionTable.empty(dictionary)


@leaf
def is_dead(dead: NDArray[np.uint8], owner: int) -> bool:
    """Whether the owner's bit is set; owners beyond the bits are alive."""
    return owner >> 3 < len(dead) and dead[owner >> 3] >> (owner & 7) & 1 == 1


@leaf
def put(
    ranks: Ranks,
    slot: int,
    op: int,
    lo: int,
    hi: int,
    n: int,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    los: Int64Array,
    his: Int64Array,
) -> int:
    """Write an interval predicate at n as the one or two it was made of; returns the new n."""
    attrs[n], ops[n] = ranks.attrs[slot], op
    if op == MISSING:
        los[n], his[n] = 0, 0
        return n + 1
    if op != BETWEEN:
        los[n], his[n] = key_range(ranks, slot, lo, hi)
        return n + 1
    first, _ = key_range(ranks, slot, lo, lo)
    _, last = key_range(ranks, slot, hi, hi)
    ops[n], los[n], his[n] = IN, first, NUMBER_MAX
    attrs[n + 1], ops[n + 1], los[n + 1], his[n + 1] = attrs[n], IN, NUMBER_MIN, last
    return n + 2


@kernel
def decode(
    clusters: Clusters[Item], ranks: Ranks, set_starts: Int64Array, set_codes: Int32Array, dead: NDArray[np.uint8]
) -> tuple[Int32Array, Int64Array, Int32Array, NDArray[np.uint8], Int64Array, Int64Array, Int64Array]:
    """The columns of a `SubscriptionTable`; mutates nothing given."""
    records = clusters.records
    half = 4 * records.itemsize
    low = (1 << half) - 1
    owners, offsets = np.empty(1024, np.int32), np.zeros(1025, np.int64)
    attrs, ops = np.empty(8192, np.int32), np.empty(8192, np.uint8)
    los, his = np.empty(8192, np.int64), np.empty(8192, np.int64)
    sets, set_end = np.empty(16, np.int64), 0
    rows, n, at = 0, 0, 0
    while at < len(records):
        if records[at] == low:
            first = records[at + 1] | records[at + 2] << 16
            count = records[at + 3] | records[at + 4] << 16
            at += BLOCK_RECORD
            for b in range(first, first + count):
                start, stop = clusters.block_columns[b], clusters.block_columns[b + 1]
                owners, offsets = grown(owners, rows + LANES), grown(offsets, rows + LANES + 1)
                room = n + 2 * LANES * (stop - start + 1)
                attrs, ops, los, his = grown(attrs, room), grown(ops, room), grown(los, room), grown(his, room)
                for lane in range(LANES):
                    owner = clusters.block_owners[LANES * b + lane] & 0x7FFFFFFF
                    if clusters.block_live[b] >> np.uint32(lane) & np.uint32(1) == 0 or is_dead(dead, owner):
                        continue
                    if clusters.block_keys[3 * b] >= 0:
                        lo, hi = clusters.block_keys[3 * b + 1], clusters.block_keys[3 * b + 2]
                        n = put(ranks, clusters.block_keys[3 * b], IN, lo, hi, n, attrs, ops, los, his)
                    for k in range(start, stop):
                        lo, hi = lane_test(clusters, b, k, lane)
                        if lo != 0 or hi == 0:
                            n = put(
                                ranks, clusters.column_slots[k], clusters.column_ops[k], lo, hi, n, attrs, ops, los, his
                            )
                    owners[rows] = owner
                    rows += 1
                    offsets[rows] = n
            continue
        total, copy = records[at + 1] & low, records[at + 1] >> half
        owner = (int(records[at + 2]) | int(records[at + 3]) << 16) & 0x7FFFFFFF
        if copy == 0 and not is_dead(dead, owner):
            owners, offsets = grown(owners, rows + 1), grown(offsets, rows + 2)
            room = n + 2 * total
            attrs, ops, los, his = grown(attrs, room), grown(ops, room), grown(los, room), grown(his, room)
            for k in range(total):
                p = at + HEAD + TRIPLE * k
                op = records[at + HEAD + TRIPLE * total + k // PACKED] >> (4 * (k % PACKED)) & 15
                slot = records[p]
                if op == BETWEEN or op < FIRST_SET:
                    n = put(ranks, slot, op, records[p + 1], records[p + 2], n, attrs, ops, los, his)
                    continue
                number = int(records[p + 1]) | int(records[p + 2]) << 16
                attrs[n], ops[n], los[n] = ranks.attrs[slot], op, set_end
                sets = grown(sets, set_end + set_starts[number + 1] - set_starts[number])
                for q in range(set_starts[number], set_starts[number + 1]):
                    sets[set_end], _ = key_range(ranks, slot, set_codes[q], set_codes[q])
                    set_end += 1
                his[n] = set_end
                n += 1
            owners[rows] = owner
            rows += 1
            offsets[rows] = n
        at += record_length(total)
    return owners[:rows], offsets[: rows + 1], attrs[:n], ops[:n], los[:n], his[:n], sets[:set_end]
