"""Which clusters an event hits."""

from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.arrays.memory import prefetch
from tamis.candidates.keyed.choose import LEVELS, Keys, cell_number, pair_place
from tamis.candidates.keyed.layout import Item
from tamis.candidates.keyed.verify import UInt32Array
from tamis.encoding.keys import Int32Array, Int64Array

LINE = 64


@leaf
def hit(cluster: int, starts: UInt32Array, records: NDArray[Item], hits: Int64Array, n: int) -> int:
    """Note a cluster that is not empty as hits[2n], hits[2n+1] and ask for its memory."""
    start, stop = starts[cluster], starts[cluster + 1]
    if start < stop:
        hits[2 * n], hits[2 * n + 1] = start, stop
        prefetch(records, start)
        prefetch(records, min(stop - 1, start + LINE // records.itemsize))
        n += 1
    return n


@leaf
def most_hits(pairs: int) -> int:
    """How many clusters an event with this many pairs may hit at most (cells of multiple values not counted)."""
    return 1 + pairs * (2 + 2 * LEVELS) + 2 * pairs * pairs


@leaf
def probe(
    slots: Int32Array,
    codes: UInt32Array,
    first: int,
    last: int,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    atoms: Int64Array,
    seen: Int64Array,
    hits: Int64Array,
) -> int:
    """The clusters hit by an event with one value per attribute (pairs first:last; slot -1: not asked about).

    Fills hits int64[2 × most_hits]; atoms int64[2 × pairs] and `seen` (see `probe_pairs`) are scratch. Returns their number.
    """
    n = hit(0, starts, records, hits, 0)
    count, classes = 0, keys.plan[2]
    for i in range(first, last):
        s = slots[i]
        if s < 0:
            continue
        if keys.values[s] >= 0:
            cluster = keys.values[s] + codes[i]
            n = hit(cluster, starts, records, hits, n)
            if classes > 1 and keys.paired_values[cluster]:
                atoms[count] = -cluster
                count += 1
        n = hit(1 + s, starts, records, hits, n)
        if keys.paired[s]:
            atoms[count] = 1 + s
            count += 1
        if keys.levels[s]:
            for bit in range(2 * LEVELS):
                if keys.levels[s] >> bit & 1:
                    cell = keys.cells[2 * LEVELS * s + bit] + cell_number(keys.shifts[s], bit, codes[i])
                    n = hit(cell, starts, records, hits, n)
    if classes:
        n = probe_pairs(atoms, count, keys, starts, records, hits, n, seen)
    return n


@leaf
def probe_pairs(
    atoms: Int64Array,
    count: int,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    hits: Int64Array,
    n: int,
    seen: Int64Array,
) -> int:
    """The clusters of all pairs of atoms (values negated) of a class in use, appended to `hits`; returns their number.

    Pairs that the filter has not are dismissed at once. Two pairs may share a bucket, so what was hit is remembered in
    `seen`, a hash table of a power of two items, more than twice the pairs, whose last item numbers the events.
    """
    plan, places = keys.plan, len(seen) - 2
    seen[-1] += 1
    stamp = seen[-1] << 32
    for i in range(count):
        for j in range(i):
            group = (atoms[i] < 0) + (atoms[j] < 0)
            if plan[2] >> group & 1 == 0:
                continue
            bucket, bit = pair_place(abs(atoms[i]), abs(atoms[j]), plan[1])
            if keys.filter[bucket] >> bit & 1 == 0:
                continue
            cluster = plan[0] + bucket
            start, stop = starts[cluster], starts[cluster + 1]
            if start == stop:
                continue
            at = cluster & places
            while seen[at] > stamp and seen[at] != stamp | cluster:
                at = (at + 1) & places
            if seen[at] != stamp | cluster:
                seen[at] = stamp | cluster
                hits[2 * n], hits[2 * n + 1] = start, stop
                prefetch(records, start)
                n += 1
    return n


@leaf
def probe_several(
    slots: Int32Array,
    codes: UInt32Array,
    first: int,
    last: int,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    atoms: Int64Array,
    seen: Int64Array,
    hits: Int64Array,
) -> int:
    """As `probe`, for an event that may have several values of an attribute (neighbours in slots and codes).

    A conjunction with a lower and an upper bound may be met by two values on either side of it, so all cells between an
    attribute's extremes are hit. Returns -1 when `hits` is too short.
    """
    n = hit(0, starts, records, hits, 0)
    count, classes = 0, keys.plan[2]
    i = first
    while i < last:
        s, least, most, end = slots[i], codes[i], codes[i], i + 1
        while end < last and slots[end] == s:
            least, most = min(least, codes[end]), max(most, codes[end])
            end += 1
        if s < 0:
            i = end
            continue
        if keys.values[s] >= 0:
            for k in range(i, end):
                repeated = False
                for before in range(i, k):
                    repeated |= codes[before] == codes[k]
                cluster = keys.values[s] + codes[k]
                if not repeated:
                    n = hit(cluster, starts, records, hits, n)
                    if classes > 1 and keys.paired_values[cluster]:
                        atoms[count] = -cluster
                        count += 1
        n = hit(1 + s, starts, records, hits, n)
        if keys.paired[s]:
            atoms[count] = 1 + s
            count += 1
        for bit in range(2 * LEVELS):
            if keys.levels[s] >> bit & 1:
                base = keys.cells[2 * LEVELS * s + bit]
                low, high = cell_number(keys.shifts[s], bit, least), cell_number(keys.shifts[s], bit, most)
                for cell in range(base + low, base + high + 1):
                    if 2 * n + 2 > len(hits):
                        return -1
                    n = hit(cell, starts, records, hits, n)
        i = end
    if 2 * n + 2 + count * count > len(hits):
        return -1
    return probe_pairs(atoms, count, keys, starts, records, hits, n, seen) if classes else n
