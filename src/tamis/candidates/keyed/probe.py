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
    MASK,
    PAIRED,
    PAIRED_VALUES,
    TRIPLED,
    Keys,
    cell_number,
    place,
)
from tamis.candidates.keyed.layout import Item
from tamis.candidates.keyed.schemas import WIDEST, UInt64Array, value_hash
from tamis.candidates.keyed.triples import member_hash, triples_among
from tamis.candidates.keyed.verify import UInt32Array
from tamis.encoding.keys import Int32Array, Int64Array

LINE = 64
FAR = 16
"""How many bytes memory hands over at once, and how many such lines of a cluster are asked for; the processor sees that
more is wanted when it reads on."""


class Scratch(NamedTuple):
    """Memory for the events of one call: atoms int64[2 × pairs]; mixed uint64[slots], zero between events, if there are
    schemas; hashes uint64[most_hashes]; `seen`, a hash table of a power of two items, more than twice the clusters an event
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
def ask(records: NDArray[Item], start: int, stop: int) -> None:
    """Ask for the memory of a cluster, all but what is beyond FAR lines."""
    line = LINE // records.itemsize
    for i in range(start, min(stop, start + FAR * line), line):
        prefetch(records, i)
    prefetch(records, min(stop, start + FAR * line) - 1)


@leaf
def hit(cluster: int, starts: UInt32Array, records: NDArray[Item], hits: Int64Array, n: int) -> int:
    """Note a cluster that is not empty as hits[2n], hits[2n+1] and ask for its memory."""
    start, stop = starts[cluster], starts[cluster + 1]
    if start < stop:
        hits[2 * n], hits[2 * n + 1] = start, stop
        ask(records, start, stop)
        n += 1
    return n


@leaf
def most_hashes(pairs: int, schemas: int, triples: int) -> int:
    """How many hashes an event with this many pairs may have to look up at most, if every attribute has one value."""
    return 2 * pairs * pairs + schemas + triples


@leaf
def most_hits(pairs: int, hashes: int) -> int:
    """How many clusters an event with this many pairs and hashes may hit at most (those of multiple values not counted)."""
    return 1 + pairs * (2 + 2 * LEVELS) + hashes


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
        wanted, hashes = 0, scratch.hashes
        if keys.plan[2]:
            wanted = hash_pairs(atoms, count, keys, hashes, wanted)
        if len(keys.schemas.slots):
            wanted = hash_schemas(slots, codes, first, last, keys, scratch.mixed, hashes, wanted)
        if keys.plan[3]:
            wanted = hash_triples(slots, first, last, keys, atoms, hashes, wanted)
        n = hit_hashed(hashes, wanted, keys, starts, records, hits, n, scratch.seen)
    return n


@leaf
def note(hashes: UInt64Array, n: int, mixed: np.uint64, keys: Keys) -> int:
    """Put a hash that is to be looked up behind the n that are there, and ask for its place in the filter; returns n + 1."""
    hashes[n] = mixed
    bucket, _ = place(mixed, keys.plan[1])
    prefetch(keys.filter, bucket)
    return n + 1


@leaf
def hit_hashed(
    hashes: UInt64Array,
    count: int,
    keys: Keys,
    starts: UInt32Array,
    records: NDArray[Item],
    hits: Int64Array,
    n: int,
    seen: Int64Array,
) -> int:
    """Note the clusters of hashes[:count], each once, unless empty or dismissed by the filter; returns how many hits there are.

    All hashes take each step together, and no step branches on what it reads: the memory of all is waited for at once. `hashes`
    is overwritten.
    """
    kept = 0
    for i in range(count):
        bucket, bit = place(hashes[i], keys.plan[1])
        hashes[kept] = np.uint64(bucket)
        kept += keys.filter[bucket] >> bit & 1
    for i in range(kept):
        prefetch(starts, keys.plan[0] + np.int64(hashes[i]))
    seen[-1] += 1
    places, stamp = len(seen) - 2, seen[-1] << 32
    for i in range(kept):
        cluster = keys.plan[0] + np.int64(hashes[i])
        start, stop = starts[cluster], starts[cluster + 1]
        if start == stop:
            continue
        at = cluster & places
        while seen[at] > stamp and seen[at] != stamp | cluster:
            at = (at + 1) & places
        if seen[at] != stamp | cluster:
            seen[at] = stamp | cluster
            hits[2 * n], hits[2 * n + 1] = start, stop
            ask(records, start, stop)
            n += 1
    return n


@leaf
def hash_pairs(atoms: Int64Array, count: int, keys: Keys, hashes: UInt64Array, n: int) -> int:
    """The hashes of all pairs of atoms (values negated) of a class in use, appended to `hashes`; returns their number."""
    classes, mask = keys.plan[2], keys.plan[2] >> MASK
    for i in range(count):
        for j in range(i):
            values = (atoms[i] < 0) + (atoms[j] < 0)
            if classes >> values & 1 and (values or (atoms[i] ^ atoms[j]) & mask == 0):
                n = note(hashes, n, pair_hash(abs(atoms[i]), abs(atoms[j])), keys)
    return n


@leaf
def hash_triples(
    slots: Int32Array, first: int, last: int, keys: Keys, atoms: Int64Array, hashes: UInt64Array, n: int
) -> int:
    """The hashes of all triples of the event's attributes within a group, appended to `hashes`; returns their number.

    `atoms` is scratch; values of one attribute are neighbours.
    """
    for group in range(1, keys.plan[3] + 1):
        count, before = 0, -1
        for i in range(first, last):
            s = slots[i]
            if s >= 0 and s != before and keys.uses[s] >> TRIPLED == group:
                atoms[count] = np.int64(member_hash(s))
                count += 1
            before = s
        for i in range(count):
            for j in range(i):
                two = atoms[i] ^ atoms[j]
                for k in range(j):
                    n = note(hashes, n, np.uint64(two ^ atoms[k]), keys)
    return n


@leaf
def triples_of(slots: Int32Array, first: int, last: int, keys: Keys) -> int:
    """How many triples an event looks up."""
    total = 0
    for group in range(1, keys.plan[3] + 1):
        count, before = 0, -1
        for i in range(first, last):
            s = slots[i]
            count += s >= 0 and s != before and keys.uses[s] >> TRIPLED == group
            before = s
        total += triples_among(count)
    return total


@leaf
def hash_schemas(
    slots: Int32Array,
    codes: UInt32Array,
    first: int,
    last: int,
    keys: Keys,
    mixed: UInt64Array,
    hashes: UInt64Array,
    n: int,
) -> int:
    """The hashes of all schemas whose attributes the event has, appended to `hashes`; returns their number.

    mixed uint64[slots] is zero before and after.
    """
    of_slot, leads = keys.schemas.slots, keys.schemas.starts
    for i in range(first, last):
        if slots[i] >= 0 and keys.uses[slots[i]] & IN_SCHEMA:
            mixed[slots[i]] = value_hash(slots[i], codes[i])
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
                n = note(hashes, n, mix, keys)
    for i in range(first, last):
        if slots[i] >= 0:
            mixed[slots[i]] = 0
    return n


@leaf
def hashed_keys(keys: Keys, pairs: int, begin: Int32Array, end: Int32Array) -> float:
    """How many hashes of pairs and schemas an event with up to so many atoms and the codes begin:end of each slot may have to
    look up."""
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
    hashes: UInt64Array,
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
    wanted = min(float(clusters), hashed_keys(keys, count, begin, end) + triples_of(slots, first, last, keys))
    if 2 * (n + wanted) + 2 > len(hits):
        return -1
    if wanted == clusters or 2 * wanted > len(seen) - 2:
        hits[2 * n], hits[2 * n + 1] = starts[keys.plan[0]], starts[keys.plan[0] + clusters]
        return n + 1
    noted = 0
    if keys.plan[2]:
        noted = hash_pairs(atoms, count, keys, hashes, noted)
    for q in range(len(keys.schemas.slots) // WIDEST):
        noted = hash_product(q, codes, begin, end, keys, hashes, noted)
    noted = hash_triples(slots, first, last, keys, atoms, hashes, noted)
    return hit_hashed(hashes, noted, keys, starts, records, hits, n, seen)


@leaf
def hash_product(
    schema: int, codes: UInt32Array, begin: Int32Array, end: Int32Array, keys: Keys, hashes: UInt64Array, n: int
) -> int:
    """The hashes of every combination of an event's values of a schema, appended to `hashes`; returns their number."""
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
        n = note(hashes, n, mixed, keys)
    return n
