"""Writing clusters: most selective predicates first, and blocks wherever neighbours share enough attributes."""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.simd import LANES
from tamis.candidates.keyed.choose import VALUE, VALUES
from tamis.candidates.keyed.coded import BETWEEN
from tamis.candidates.keyed.filed import Filed
from tamis.candidates.keyed.layout import BLOCK_RECORD, HEAD, PACKED, TRIPLE, Clusters, Item, record_length
from tamis.candidates.keyed.weights import Float64Array
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import ALL, IN, IN_SET, MISSING

FEWEST, WIDEST = 12, 48
"""Rows a cluster needs before blocks are tried, and columns a block may have."""
RARE = 64
"""An attribute that fewer than one row in so many has, or only one, keeps its row out of the block of the others."""
SPARE = 3.0
"""How many times the bytes of records a block may take: it is read many times faster."""
COLUMN_OPS = 4


@leaf
def column_op(op: int) -> int:
    """A number below COLUMN_OPS for the ops a column can test, else -1."""
    if op == IN:
        return 0
    if op == ALL:
        return 1
    if op == MISSING:
        return 2
    return 3 if op == BETWEEN else -1


@leaf
def room(filed: Filed, chosen: NDArray[np.bool_]) -> int:
    """Items that the records of the chosen filings take at most."""
    offsets, starts, total = filed.coded.offsets, filed.starts, 0
    for i in range(len(chosen)):
        if chosen[i]:
            total += record_length(offsets[i + 1] - offsets[i])
    for k in range(len(starts) - 1):
        if starts[k + 1] - starts[k] >= FEWEST:
            total += BLOCK_RECORD
    return total


@leaf
def write_record(
    records: NDArray[Item],
    at: int,
    first: int,
    last: int,
    proven: int,
    owner: int,
    shared: bool,
    copy: bool,
    slots: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int32Array,
    hi: Int32Array,
    likely: Float64Array,
    order: Int32Array,
) -> int:
    """Write the record of predicates first:last at records[at:]; returns its end. `order` int32[>= last - first] is scratch."""
    half = 4 * records.itemsize
    total, simple = last - first, 0
    n = 0
    for stage in range(2):  # simple predicates, then complex ones; the proven one comes last
        begin = n
        for p in range(first, last):
            if p == proven or (column_op(ops[p]) < 0) != (stage == 1):
                continue
            k = n
            while k > begin and likely[order[k - 1]] > likely[p]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = p
            n += 1
        if stage == 0:
            simple = n
    checked = n
    if proven >= 0:
        order[n] = proven
    records[at] = simple | (checked - simple) << half
    records[at + 1] = total | (1 if copy else 0) << half
    records[at + 2] = owner & 0xFFFF
    records[at + 3] = owner >> 16 | (0x8000 if shared else 0)
    packed = at + HEAD + TRIPLE * total
    for k in range((total + PACKED - 1) // PACKED):
        records[packed + k] = 0
    for k in range(total):
        p, to = order[k], at + HEAD + TRIPLE * k
        records[to] = slots[p]
        if column_op(ops[p]) < 0 and ops[p] >= IN_SET:
            records[to + 1], records[to + 2] = lo[p] & 0xFFFF, lo[p] >> 16
        else:
            records[to + 1], records[to + 2] = lo[p], hi[p]
        records[packed + k // PACKED] |= ops[p] << (4 * (k % PACKED))
    return at + record_length(total)


@leaf
def fits_block(kind: int, first: int, last: int, proven: int, slots: Int32Array, ops: NDArray[np.uint8]) -> bool:
    """Whether a conjunction's predicates can each have a lane in a column of their own."""
    if kind == VALUES or (kind == VALUE and proven < 0):
        return False
    for p in range(first, last):
        if p == proven:
            if ops[p] != IN:
                return False
            continue
        if column_op(ops[p]) < 0:
            return False
        for q in range(first, p):
            if q != proven and slots[q] == slots[p] and ops[q] == ops[p]:
                return False
    return True


@kernel
def by_similarity(
    rows: Int32Array, offsets: Int64Array, proven: Int32Array, slots: Int32Array, lo: Int32Array, popularity: Int32Array
) -> tuple[Int32Array, int]:
    """The rows ordered so that neighbours have similar attributes, then similar lows; `popularity` is zero scratch.

    Rows with an attribute that hardly any other has would widen the block of all; they come last, and how many come before
    is returned too.
    """
    seen = np.empty(64, np.int32)
    count = 0
    for c in rows:
        for p in range(offsets[c], offsets[c + 1]):
            if p != proven[c]:
                if popularity[slots[p]] == 0:
                    seen = grown(seen, count + 1)
                    seen[count] = slots[p]
                    count += 1
                popularity[slots[p]] += 1
    seen = seen[:count]
    odd, few = np.zeros(len(rows), np.bool_), max(2, len(rows) // RARE)
    for i in range(len(rows)):
        for p in range(offsets[rows[i]], offsets[rows[i] + 1]):
            odd[i] |= p != proven[rows[i]] and popularity[slots[p]] < few
    ranked = np.argsort(popularity[seen], kind="mergesort")
    popularity[seen] = -1
    for k in range(min(62, count)):
        popularity[seen[ranked[count - 1 - k]]] = 61 - k
    signature, low = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int32)
    for i in range(len(rows)):
        c, highest = rows[i], -1
        for p in range(offsets[c], offsets[c + 1]):
            bit = popularity[slots[p]]
            if p != proven[c] and bit >= 0:
                signature[i] |= np.int64(1) << bit
                if bit > highest:
                    highest, low[i] = bit, lo[p]
    popularity[seen] = 0
    alike = len(rows)
    for i in range(len(rows)):
        if odd[i]:
            signature[i] |= np.int64(1) << 62
            alike -= 1
    order = np.argsort(low, kind="mergesort")
    return rows[order[np.argsort(signature[order], kind="mergesort")]], alike


@kernel
def write_clusters(filed: Filed, chosen: NDArray[np.bool_], slot_count: int, records: NDArray[Item]) -> Clusters[Item]:
    """All clusters of the filings with `chosen` (bool[r]), in items of the dtype of `records`, which has room for them and
    is all that is changed."""
    kinds, proven, likely, starts, coded = filed.kinds, filed.proven, filed.likely, filed.starts, filed.coded
    owners, shared_owner = coded.owners, coded.shared
    offsets, slots, ops, lo, hi = coded.offsets, coded.slots, coded.ops, coded.lo, coded.hi
    clusters, length = len(starts) - 1, 0
    most = (1 << 8 * records.itemsize) - 1
    cluster_starts = np.zeros(clusters + 1, np.uint32)
    longest, largest = 1, 1
    for c in range(len(owners)):
        longest = max(longest, offsets[c + 1] - offsets[c])
    for k in range(clusters):
        largest = max(largest, starts[k + 1] - starts[k])
    order, members, others = np.empty(longest, np.int32), np.empty(largest, np.int32), np.empty(largest, np.int32)
    popularity = np.zeros(slot_count, np.int32)
    column_of = np.full(COLUMN_OPS * slot_count, -1, np.int32)
    block_columns, block_live = np.zeros(16, np.uint32), np.zeros(16, np.uint32)
    block_owners, block_keys = np.zeros(16 * LANES, np.int32), np.zeros(16 * 3, np.int32)
    column_slots, column_ops = np.zeros(64, np.uint32), np.zeros(64, np.uint8)
    columns = np.zeros(64 * 2 * LANES, records.dtype)
    block_starts, block_equal = np.zeros(16, np.uint32), np.zeros(16, np.uint8)
    blocks, column_count = 0, 0
    found, weight, ranged = np.empty(WIDEST, np.int32), np.empty(WIDEST, np.float64), np.empty(WIDEST, np.bool_)
    for k in range(clusters):
        cluster_starts[k] = length
        if starts[k] == starts[k + 1]:
            continue
        fit, unfit, large = 0, 0, starts[k + 1] - starts[k] >= FEWEST
        for c in range(starts[k], starts[k + 1]):
            if chosen[c]:
                if large and not fits_block(kinds[c], offsets[c], offsets[c + 1], proven[c], slots, ops):
                    others[unfit] = c
                    unfit += 1
                else:
                    members[fit] = c
                    fit += 1
        first_block, done = blocks, 0
        if fit >= FEWEST:
            similar, alike = by_similarity(members[:fit], offsets, proven, slots, lo, popularity)
            members[:fit] = similar
            kept = 0
            while done < fit:
                lanes, width, narrow_bytes = min(LANES, (alike if done < alike else fit) - done), 0, 0
                for i in range(done, done + lanes):
                    c = members[i]
                    narrow_bytes += record_length(offsets[c + 1] - offsets[c])
                    for p in range(offsets[c], offsets[c + 1]):
                        if p == proven[c]:
                            continue
                        column = COLUMN_OPS * slots[p] + column_op(ops[p])
                        if column_of[column] < 0:
                            if width < WIDEST:
                                found[width], weight[width], ranged[width] = column, 0.0, False
                                column_of[column] = width
                            width += 1
                        if width <= WIDEST:
                            weight[column_of[column]] += likely[p] - 1.0
                            ranged[column_of[column]] |= ops[p] != IN or lo[p] != hi[p]
                equal = 0
                for j in range(min(width, WIDEST)):
                    equal += not ranged[j]
                    weight[j] += lanes * ranged[j]  # equalities first
                lines = 2 * width - equal
                worth = width <= WIDEST and LANES * (lines + 1) <= SPARE * narrow_bytes
                if not worth:
                    for j in range(min(width, WIDEST)):
                        column_of[found[j]] = -1
                    for i in range(done, done + lanes):
                        members[kept] = members[i]
                        kept += 1
                    done += lanes
                    continue
                block_columns, block_live = grown(block_columns, blocks + 2), grown(block_live, blocks + 1)
                block_owners = grown(block_owners, (blocks + 1) * LANES)
                block_keys = grown(block_keys, (blocks + 1) * 3)
                column_slots = grown(column_slots, column_count + width)
                column_ops = grown(column_ops, column_count + width)
                block_starts, block_equal = grown(block_starts, blocks + 2), grown(block_equal, blocks + 1)
                begin = int(block_starts[blocks])
                columns = grown(columns, (begin + lines) * LANES)
                columns[begin * LANES : (begin + lines) * LANES] = 0
                by_weight = np.argsort(weight[:width], kind="mergesort")
                for j in range(width):
                    column = found[by_weight[j]]
                    column_of[column] = column_count + j
                    column_slots[column_count + j] = column // COLUMN_OPS
                    if j >= equal:
                        at = (begin + 2 * j - equal + 1) * LANES
                        columns[at : at + LANES] = most
                block_live[blocks] = np.uint32(0xFFFFFFFF) >> np.uint32(LANES - lanes)
                block_keys[3 * blocks] = -1
                block_owners[blocks * LANES : (blocks + 1) * LANES] = 0
                for lane in range(lanes):
                    c = members[done + lane]
                    block_owners[blocks * LANES + lane] = owners[c] | (-(2**31) if shared_owner[c] else 0)
                    for p in range(offsets[c], offsets[c + 1]):
                        if p == proven[c]:
                            block_keys[3 * blocks] = slots[p]
                            block_keys[3 * blocks + 1], block_keys[3 * blocks + 2] = lo[p], hi[p]
                            continue
                        column = column_of[COLUMN_OPS * slots[p] + column_op(ops[p])]
                        column_ops[column] = ops[p]
                        j = column - column_count
                        at = (begin + j + max(0, j - equal)) * LANES + lane
                        columns[at] = lo[p]
                        if j >= equal:
                            columns[at + LANES] = hi[p]
                for j in range(width):
                    column_of[found[j]] = -1
                column_count += width
                block_equal[blocks] = equal
                blocks += 1
                block_columns[blocks], block_starts[blocks] = column_count, begin + lines
                done += lanes
            fit = kept
            members[:fit] = np.sort(members[:fit])  # by length again
        for i in range(unfit):  # rows without a block: those left over, then those that never fitted one
            members[fit] = others[i]
            fit += 1
        if blocks > first_block:
            records[length] = (1 << 4 * records.itemsize) - 1
            records[length + 1], records[length + 2] = first_block & 0xFFFF, first_block >> 16
            count = blocks - first_block
            records[length + 3], records[length + 4] = count & 0xFFFF, count >> 16
            length += BLOCK_RECORD
        for i in range(fit):
            c = members[i]
            shared = shared_owner[c] or kinds[c] == VALUES  # an event with several values may find it twice
            length = write_record(
                records, length, offsets[c], offsets[c + 1], proven[c], owners[c], shared, filed.copies[c],
                slots, ops, lo, hi, likely, order,
            )  # fmt: skip
    cluster_starts[clusters] = length
    return Clusters(
        cluster_starts,
        records[:length],
        block_columns[: blocks + 1].copy(),
        block_starts[: blocks + 1].copy(),
        block_equal[:blocks].copy(),
        block_live[:blocks].copy(),
        block_owners[: blocks * LANES].copy(),
        block_keys[: blocks * 3].copy(),
        column_slots[:column_count].copy(),
        column_ops[:column_count].copy(),
        columns[: int(block_starts[blocks]) * LANES].copy(),
    )
