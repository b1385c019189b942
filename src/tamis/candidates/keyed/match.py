"""Matching a batch against an index: events are translated to codes once, and each event's clusters are asked for one
event ahead of their use."""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.csr import grouped
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.memory import prefetch
from tamis.arrays.sorting import sort_slice
from tamis.candidates.keyed.choose import BY_VALUE
from tamis.candidates.keyed.index import index_view
from tamis.candidates.keyed.layout import BLOCK_RECORD, Clusters, Item
from tamis.candidates.keyed.probe import Scratch, hashed_keys, most_hashes, most_hits, probe, probe_several, triples_of
from tamis.candidates.keyed.schemas import WIDEST
from tamis.candidates.keyed.several import verify_several
from tamis.candidates.keyed.verify import UInt32Array, verify_blocks, verify_records
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.predicates.jumps import code_from, jump_of

SLOTWISE = 1024
"""Pairs from which a batch is translated slot by slot."""
TOGETHER = 32
"""Pairs whose translation waits for memory at the same time."""


@kernel
def translate(handle: Int64Array, attrs: Int32Array, keys: Int64Array) -> tuple[Int32Array, UInt32Array]:
    """Slots int32[m] (-1: no predicate asks) and codes uint32[m] of all pairs.

    A larger batch goes slot by slot, so that the bounds of one slot stay in the cache for all its values.
    """
    slots, codes = np.empty(len(attrs), np.int32), np.empty(len(attrs), np.uint32)
    if len(attrs) < SLOTWISE:
        rank_all(handle, attrs, keys, np.arange(len(attrs)).astype(np.int32), slots, codes)
    else:
        highest = 0
        for a in attrs:
            highest = max(highest, a)
        _, order = grouped(attrs, highest + 1)
        rank_all(handle, attrs, keys, order, slots, codes)
    return slots, codes


@leaf
def rank_all(
    handle: Int64Array, attrs: Int32Array, keys: Int64Array, order: Int32Array, slots: Int32Array, codes: UInt32Array
) -> None:
    """Fill slots and codes of all pairs, in the given order.

    TOGETHER of them go through each step at a time, and every step asks for the memory that the next one reads.
    """
    index = index_view(handle)
    slot_of, bound_starts, bounds, jumps = index.ranks.slots, index.ranks.starts, index.ranks.bounds, index.jumps
    for begin in range(0, len(order), TOGETHER):
        end = min(len(order), begin + TOGETHER)
        for k in range(begin, end):
            i = order[k]
            s = slot_of[attrs[i]] if attrs[i] < len(slot_of) else -1
            slots[i], codes[i] = s, 0
            if s >= 0:
                codes[i] = jump_of(jumps, bound_starts[s], bound_starts[s + 1], s, keys[i])
                prefetch(jumps.before, codes[i])
        for k in range(begin, end):
            i = order[k]
            if slots[i] >= 0:
                start = bound_starts[slots[i]]
                prefetch(bounds, start + jumps.before[codes[i]])
                prefetch(bounds, start + jumps.before[codes[i] + 1])
        for k in range(begin, end):
            i = order[k]
            if slots[i] >= 0:
                codes[i] = code_from(jumps, bounds, bound_starts[slots[i]], codes[i], keys[i])


@leaf
def single_valued(slots: Int32Array, first: int, last: int) -> bool:
    """Whether no slot asked about repeats among first:last (repeats are neighbours)."""
    repeats = False
    for i in range(first + 1, last):
        repeats |= slots[i] == slots[i - 1] and slots[i] >= 0
    return not repeats


@leaf
def verify_hits(
    clusters: Clusters[Item],
    hits: Int64Array,
    count: int,
    event: UInt32Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
    out: Int32Array,
    n: int,
    counters: Int64Array,
) -> int:
    """Append the owners of everything that holds in the clusters hit; returns the new n, or -1 when `out` is full."""
    records = clusters.records
    half = 4 * records.itemsize
    low = (1 << half) - 1
    for h in range(count):
        at, stop = hits[2 * h], hits[2 * h + 1]
        counters[2] += (stop - at) * records.itemsize
        if records[at] == low:
            first = records[at + 1] | records[at + 2] << 16
            blocks = records[at + 3] | records[at + 4] << 16
            counters[0] += 32 * blocks
            n = verify_blocks(
                first, first + blocks, clusters.block_columns, clusters.block_starts, clusters.block_equal,
                clusters.block_live, clusters.block_owners, clusters.column_slots, clusters.columns, event, out, n, counters,
            )  # fmt: skip
            at += BLOCK_RECORD
            if n < 0:
                return n
        if at < stop:
            n = verify_records(records, at, stop, event, set_starts, set_codes, out, n, counters)
            if n < 0:
                return n
    return n


@leaf
def settle(out: Int32Array, start: int, n: int, dead: NDArray[np.uint8]) -> int:
    """Drop dead owners from out[start:n], and all but one of each shared owner (negative); returns the new n.

    dead uint8: a bit per owner, empty when none is dead. What is kept of shared owners goes to the end.
    """
    kept, tail, i = start, n, start
    while i < tail:
        owner = out[i] & 0x7FFFFFFF
        if len(dead) > owner >> 3 and dead[owner >> 3] >> (owner & 7) & 1:
            i += 1
        elif out[i] < 0:  # swap it behind the unshared ones; what comes in its place is looked at next
            tail -= 1
            out[i], out[tail] = out[tail], owner
        else:
            out[kept] = out[i]
            kept += 1
            i += 1
    if tail < n:
        sort_slice(out, tail, n)
        last = -1
        for k in range(tail, n):
            if out[k] != last:
                last = out[k]
                out[kept] = last
                kept += 1
    return kept


@leaf
def match_events(
    handle: Int64Array,
    dead: NDArray[np.uint8],
    event_offsets: Int64Array,
    order: Int32Array,
    slots: Int32Array,
    codes: UInt32Array,
    event: UInt32Array,
    scratch: Scratch,
    k: int,
    offsets: Int64Array,
    out: Int32Array,
) -> int:
    """Match the events order[k], order[k+1], … until one has several values of an attribute or `out` is full.

    Fills `out` and `offsets` (int64[events + 1] in that order); returns where it stopped.
    """
    index = index_view(handle)
    keys, narrow, wide = index.keys, index.narrow, index.wide
    hits, next_hits, counters = scratch.hits, scratch.next_hits, scratch.counters
    settling = index.shared[0] != 0 or len(dead) > 0
    count, ahead = 0, -1
    while k < len(order):
        first, last = event_offsets[order[k]], event_offsets[order[k] + 1]
        if ahead >= 0:
            hits, next_hits, count = next_hits, hits, ahead
        elif single_valued(slots, first, last):
            count = probe(slots, codes, first, last, keys, narrow.starts, narrow.records, scratch, hits)
        else:
            return k
        ahead = -1
        if k + 1 < len(order):
            begin, end = event_offsets[order[k + 1]], event_offsets[order[k + 1] + 1]
            if single_valued(slots, begin, end):
                ahead = probe(slots, codes, begin, end, keys, narrow.starts, narrow.records, scratch, next_hits)
        if k + 2 < len(order):
            for i in range(event_offsets[order[k + 2]], event_offsets[order[k + 2] + 1]):
                if slots[i] >= 0 and keys.uses[slots[i]] & BY_VALUE:
                    prefetch(narrow.starts, keys.values[slots[i]] + codes[i])
        for i in range(first, last):
            if slots[i] >= 0:
                event[slots[i]] = codes[i]
        tested, read = counters[0], counters[2]
        n = verify_hits(narrow, hits, count, event, index.set_starts, index.set_codes, out, offsets[k], counters)
        if n >= 0 and len(wide.starts):
            more = probe(slots, codes, first, last, keys, wide.starts, wide.records, scratch, hits)
            n = verify_hits(wide, hits, more, event, index.set_starts, index.set_codes, out, n, counters)
            count += more
        for i in range(first, last):
            if slots[i] >= 0:
                event[slots[i]] = 0
        if n < 0:  # all of it will be tested again
            counters[0], counters[2] = tested, read
            return k
        counters[1] += count
        offsets[k + 1] = settle(out, offsets[k], n, dead) if settling else n
        k += 1
    return k


@kernel
def match_index(
    handle: Int64Array,
    dead: NDArray[np.uint8],
    event_offsets: Int64Array,
    slots: Int32Array,
    codes: UInt32Array,
    order: Int32Array,
    event: UInt32Array,
    out: Int32Array,
) -> tuple[Int64Array, Int32Array, Int64Array]:
    """Owners of the conjunctions of the index behind `handle` that hold for the events order[0], order[1], …

    slots, codes: see `translate`; event uint32[slots]: zero scratch, zero again on return. Returns
    offsets int64[k+1] in that order, the ids at the beginning of `out` or of a longer array where they did not fit, and
    counters as in `Scratch`.
    """
    keys = index_view(handle).keys
    longest, triples = 0, 0
    for e in order:
        longest = max(longest, event_offsets[e + 1] - event_offsets[e])
        triples = max(triples, triples_of(slots, event_offsets[e], event_offsets[e + 1], keys))
    schemas = len(keys.schemas.slots) // WIDEST
    hashes = most_hashes(longest, schemas, triples)
    room = 2 * most_hits(longest, hashes)
    places = 64
    while places < room:
        places *= 2
    scratch = Scratch(
        np.empty(2 * longest, np.int64),
        np.zeros(len(event) if schemas else 0, np.uint64),
        np.empty(hashes, np.uint64),
        np.zeros(places + 1, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.zeros(3, np.int64),
    )
    offsets = np.zeros(len(order) + 1, np.int64)
    k = 0
    while k < len(order):
        k = match_events(handle, dead, event_offsets, order, slots, codes, event, scratch, k, offsets, out)
        if k < len(order):
            first, last = event_offsets[order[k]], event_offsets[order[k] + 1]
            if single_valued(slots, first, last):
                out = grown(out, len(out) + 1)
            else:
                n, out = match_several(handle, slots, codes, first, last, event, scratch, out, offsets[k])
                offsets[k + 1] = settle(out, offsets[k], n, dead)
                k += 1
    return offsets, out, scratch.counters


@kernel
def match_several(
    handle: Int64Array,
    slots: Int32Array,
    codes: UInt32Array,
    first: int,
    last: int,
    event: UInt32Array,
    scratch: Scratch,
    out: Int32Array,
    n: int,
) -> tuple[int, Int32Array]:
    """The owners for one event with several values of an attribute, appended to out[n:]; returns the new n and `out`."""
    index = index_view(handle)
    ranks, keys, atoms, counters = index.ranks, index.keys, scratch.atoms, scratch.counters
    begin, end = np.zeros(len(event), np.int32), np.zeros(len(event), np.int32)
    for i in range(first, last):
        if slots[i] >= 0:
            if end[slots[i]] == 0:
                begin[slots[i]] = i
            end[slots[i]] = i + 1
    wanted = hashed_keys(keys, len(atoms), begin, end) + triples_of(slots, first, last, keys)
    wanted = min(float(1 << keys.plan[1]), wanted)
    places = 64
    while places < 2 * wanted + 2:
        places *= 2
    seen = np.zeros(places + 1, np.int64)
    hashes = np.empty(int(wanted), np.uint64)
    hits = np.empty(2 * most_hits(last - first, len(hashes)), np.int64)
    for pool in range(2):
        if pool == 1 and len(index.wide.starts) == 0:
            continue
        count = -1
        while count < 0:
            if pool == 0:
                count = probe_several(
                    slots, codes, first, last, begin, end, keys,
                    index.narrow.starts, index.narrow.records, atoms, hashes, seen, hits,
                )  # fmt: skip
            else:
                count = probe_several(
                    slots, codes, first, last, begin, end, keys,
                    index.wide.starts, index.wide.records, atoms, hashes, seen, hits,
                )  # fmt: skip
            if count < 0:
                hits = np.empty(2 * len(hits), np.int64)
        counters[1] += count
        for h in range(count):
            start, made = n, -1
            while made < 0:
                if pool == 0:
                    made = verify_several(
                        index.narrow, hits[2 * h], hits[2 * h + 1], begin, end, codes,
                        index.set_starts, index.set_codes, ranks, out, start, counters,
                    )  # fmt: skip
                else:
                    made = verify_several(
                        index.wide, hits[2 * h], hits[2 * h + 1], begin, end, codes,
                        index.set_starts, index.set_codes, ranks, out, start, counters,
                    )  # fmt: skip
                if made < 0:
                    out = grown(out, 2 * len(out))
            n = made
    return n, out
