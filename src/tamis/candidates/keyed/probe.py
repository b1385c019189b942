"""Which clusters an event hits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.hashing import pair_hash
from tamis.arrays.jit import leaf
from tamis.arrays.memory import prefetch
from tamis.candidates.keyed.choose import (
    BY_ATTRIBUTE,
    BY_CELL,
    BY_VALUE,
    IN_SCHEMA,
    LEVELS,
    PAIRED,
    PAIRED_VALUES,
    Keys,
    cell_number,
    place,
)
from tamis.candidates.keyed.layout import Item
from tamis.candidates.keyed.schemas import WIDEST, UInt64Array, value_hash
from tamis.candidates.keyed.verify import UInt32Array
from tamis.encoding.keys import Int32Array, Int64Array

LINE = 64


class Scratch(NamedTuple):
    """Memory for the events of one call: atoms int64[2 × pairs]; mixed uint64[slots], zero between events, and hashes
    uint64[schemas], if there are schemas; `seen`, a hash table of a power of two items, more than twice the clusters an event
    may hit, whose last item numbers the events; hits and next_hits int64[2 × most_hits]; counters int64[3]: candidates,
    clusters hit, bytes of clusters read."""

    atoms: Int64Array
    mixed: UInt64Array
    hashes: UInt64Array
    seen: Int64Array
    hits: Int64Array
    next_hits: Int64Array
    counters: Int64Array


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
def most_hits(pairs: int, schemas: int) -> int:
    """How many clusters an event with this many pairs may hit at most (those of multiple values not counted)."""
    return 1 + pairs * (2 + 2 * LEVELS) + 2 * pairs * pairs + schemas


@leaf
def probe(
    slots: Int32Array,
    codes: UInt32Array,
    first: int,
    last: int,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    scratch: Scratch,
    hits: Int64Array,
) -> int:
    """The clusters hit by an event with one value per attribute (pairs first:last; slot -1: not asked about).

    Fills hits int64[2 × most_hits]; returns their number.
    """
    atoms = scratch.atoms
    n = hit(0, starts, records, hits, 0)
    count = 0
    for i in range(first, last):
        s = slots[i]
        uses = keys.uses[s] if s >= 0 else 0
        if uses & (BY_VALUE | PAIRED_VALUES):
            cluster = keys.values[s] + codes[i]
            if uses & BY_VALUE:
                n = hit(cluster, starts, records, hits, n)
            if uses & PAIRED_VALUES and keys.paired_values[cluster]:
                atoms[count] = -cluster
                count += 1
        if uses & BY_ATTRIBUTE:
            n = hit(1 + s, starts, records, hits, n)
        if uses & PAIRED:
            atoms[count] = 1 + s
            count += 1
        if uses & BY_CELL:
            for bit in range(2 * LEVELS):
                if keys.levels[s] >> bit & 1:
                    cell = keys.cells[2 * LEVELS * s + bit] + cell_number(keys.shifts[s], bit, codes[i])
                    n = hit(cell, starts, records, hits, n)
    if keys.plan[1]:
        scratch.seen[-1] += 1
    if keys.plan[2]:
        n = probe_pairs(atoms, count, keys, starts, records, hits, n, scratch.seen)
    if len(keys.schemas.slots):
        n = probe_schemas(slots, codes, first, last, keys, starts, records, scratch, hits, n)
    return n


@leaf
def hit_hashed(
    mixed: np.uint64,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    hits: Int64Array,
    n: int,
    seen: Int64Array,
) -> int:
    """Note the cluster of a hash unless it is empty, the filter dismisses it, or another hash of the event has hit it."""
    bucket, bit = place(mixed, keys.plan[1])
    if keys.filter[bucket] >> bit & 1 == 0:
        return n
    cluster = keys.plan[0] + bucket
    start, stop = starts[cluster], starts[cluster + 1]
    if start == stop:
        return n
    places, stamp = len(seen) - 2, seen[-1] << 32
    at = cluster & places
    while seen[at] > stamp and seen[at] != stamp | cluster:
        at = (at + 1) & places
    if seen[at] != stamp | cluster:
        seen[at] = stamp | cluster
        hits[2 * n], hits[2 * n + 1] = start, stop
        prefetch(records, start)
        prefetch(records, min(stop - 1, start + LINE // records.itemsize))
        n += 1
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
    """The clusters of all pairs of atoms (values negated) of a class in use, appended to `hits`; returns their number."""
    plan = keys.plan
    for i in range(count):
        for j in range(i):
            group = (atoms[i] < 0) + (atoms[j] < 0)
            if plan[2] >> group & 1:
                mixed = pair_hash(abs(atoms[i]), abs(atoms[j]))
                n = hit_hashed(mixed, keys, starts, records, hits, n, seen)
    return n


@leaf
def probe_schemas(
    slots: Int32Array,
    codes: UInt32Array,
    first: int,
    last: int,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    scratch: Scratch,
    hits: Int64Array,
    n: int,
) -> int:
    """The clusters of all schemas whose attributes the event has, appended to `hits`; returns their number.

    All hashes come first, so that the memory they lead to is asked for at once.
    """
    of_slot, leads = keys.schemas.slots, keys.schemas.starts
    mixed, hashes = scratch.mixed, scratch.hashes
    for i in range(first, last):
        if slots[i] >= 0 and keys.uses[slots[i]] & IN_SCHEMA:
            mixed[slots[i]] = value_hash(slots[i], codes[i])
    count = 0
    for i in range(first, last):
        s = slots[i]
        if s < 0:
            continue
        for q in range(leads[s], leads[s + 1]):
            mix, whole = mixed[s], True
            for k in range(WIDEST * q + 1, WIDEST * (q + 1)):
                if of_slot[k] < 0:
                    break
                value = mixed[of_slot[k]]
                if value == 0:
                    whole = False
                    break
                mix ^= value
            if whole:
                bucket, _ = place(mix, keys.plan[1])
                prefetch(keys.filter, bucket)
                prefetch(starts, keys.plan[0] + bucket)
                hashes[count] = mix
                count += 1
    for i in range(first, last):
        if slots[i] >= 0:
            mixed[slots[i]] = 0
    for i in range(count):
        n = hit_hashed(hashes[i], keys, starts, records, hits, n, scratch.seen)
    return n


@leaf
def hashed_keys(keys: Keys, pairs: int, begin: Int32Array, end: Int32Array) -> float:
    """How many hashes an event with up to so many atoms and the codes begin:end of each slot may have to look up."""
    of_slot, total = keys.schemas.slots, pairs * (pairs - 1) / 2 if keys.plan[2] else 0.0
    for q in range(len(of_slot) // WIDEST):
        ways = 1.0
        for k in range(WIDEST * q, WIDEST * (q + 1)):
            if of_slot[k] >= 0:
                ways *= end[of_slot[k]] - begin[of_slot[k]]
        total += ways
    return total


@leaf
def probe_several(
    slots: Int32Array,
    codes: UInt32Array,
    first: int,
    last: int,
    begin: Int32Array,
    end: Int32Array,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    atoms: Int64Array,
    seen: Int64Array,
    hits: Int64Array,
) -> int:
    """As `probe`, for an event that may have several values of an attribute: begin/end int32[slots] is where its codes are.

    A conjunction with a lower and an upper bound may be met by two values on either side of it, so all cells between an
    attribute's extremes are hit. Where there are more hashes to look up than hashed clusters, all of these are hit, as one.
    Returns -1 when `hits` is too short.
    """
    n = hit(0, starts, records, hits, 0)
    count = 0
    i = first
    while i < last:
        s, least, most, stop = slots[i], codes[i], codes[i], i + 1
        while stop < last and slots[stop] == s:
            least, most = min(least, codes[stop]), max(most, codes[stop])
            stop += 1
        if s < 0:
            i = stop
            continue
        if keys.values[s] >= 0:
            for k in range(i, stop):
                repeated = False
                for before in range(i, k):
                    repeated |= codes[before] == codes[k]
                cluster = keys.values[s] + codes[k]
                if not repeated:
                    n = hit(cluster, starts, records, hits, n)
                    if keys.uses[s] & PAIRED_VALUES and keys.paired_values[cluster]:
                        atoms[count] = -cluster
                        count += 1
        n = hit(1 + s, starts, records, hits, n)
        if keys.uses[s] & PAIRED:
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
        i = stop
    if keys.plan[1] == 0:
        return n
    clusters = 1 << keys.plan[1]
    wanted = min(float(clusters), hashed_keys(keys, count, begin, end))
    if 2 * (n + wanted) + 2 > len(hits):
        return -1
    if wanted == clusters or 2 * wanted > len(seen) - 2:
        hits[2 * n], hits[2 * n + 1] = starts[keys.plan[0]], starts[keys.plan[0] + clusters]
        return n + 1
    seen[-1] += 1
    if keys.plan[2]:
        n = probe_pairs(atoms, count, keys, starts, records, hits, n, seen)
    for q in range(len(keys.schemas.slots) // WIDEST):
        n = probe_product(q, codes, begin, end, keys, starts, records, seen, hits, n)
    return n


@leaf
def probe_product(
    schema: int,
    codes: UInt32Array,
    begin: Int32Array,
    end: Int32Array,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    seen: Int64Array,
    hits: Int64Array,
    n: int,
) -> int:
    """The clusters of every combination of an event's values of a schema, appended to `hits`; returns their number."""
    of_slot, at = keys.schemas.slots, WIDEST * schema
    ways, size = 1, 0
    for k in range(at, at + WIDEST):
        if of_slot[k] >= 0:
            ways *= end[of_slot[k]] - begin[of_slot[k]]
            size += 1
    for way in range(ways):
        rest, mixed = way, np.uint64(0)
        for k in range(at, at + size):
            s = of_slot[k]
            several = end[s] - begin[s]
            mixed ^= value_hash(s, codes[begin[s] + rest % several])
            rest //= several
        n = hit_hashed(mixed, keys, starts, records, hits, n, seen)
    return n
