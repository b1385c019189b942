"""Matching one event at a time: memory that is reused, one kernel call, and no array made on the way."""

from functools import lru_cache
from math import comb
from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.handle import handle_of, view_int32, view_int64, view_uint32, view_uint64
from tamis.arrays.jit import leaf
from tamis.arrays.memory import prefetch
from tamis.candidates.keyed.index import index_view
from tamis.candidates.keyed.match import match_events
from tamis.candidates.keyed.probe import Scratch, most_hashes, most_hits
from tamis.candidates.keyed.schemas import UInt64Array
from tamis.candidates.keyed.verify import UInt32Array
from tamis.candidates.keyed.weights import Sample
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import FOLD, Int32Array, Int64Array
from tamis.encoding.single import SinglePairs
from tamis.predicates.jumps import code_from, jump_of

FULL, REFUSED = -1, -2
"""What kernels return when `out` is too short, and when a number is not finite or its key would not be exact."""
EXACT_BITS = 0x4340000000000000
"""The bits of 2.0**53: finite numbers below it have smaller bits, all others do not."""
LEAST_ROOM = 1024
"""Matches that new memory has room for at least."""
WIDE = 64
"""Attributes of an event from which, where there are triples, a frame would take too much memory."""
WORN_OUT = 1 << 30
"""Events after which the stamps of `seen` start over, long before they overflow."""


class Memory(NamedTuple):
    """The arrays of a `Frame`: keys int64[pairs] and attrs int32 behind them in the same bytes (packed: as int32); slots
    int32 and codes uint32 of the pairs; event uint32[slots], zero between events; scratch as in `Scratch`; one event's
    bounds int64[2], its order int32[1], its offsets int64[2] and matches."""

    keys: Int64Array
    packed: Int32Array
    slots: Int32Array
    codes: UInt32Array
    event: UInt32Array
    atoms: Int64Array
    mixed: UInt64Array
    hashes: UInt64Array
    seen: Int64Array
    hits: Int64Array
    next_hits: Int64Array
    counters: Int64Array
    bounds: Int64Array
    order: Int32Array
    offsets: Int64Array
    out: Int32Array


class Frame:
    """Memory for single events of up to `pairs` pairs over the index with a handle, which has so many slots and schemas, and
    triples or none; for one thread at a time."""

    def __init__(self, index: Int64Array, slots: int, schemas: int, tripled: bool, pairs: int, room: int) -> None:
        self.index, self.pairs, self.slots, self.schemas = index, max(32, pairs), slots, schemas
        self.tripled = tripled
        n = self.pairs
        hashes = most_hashes(n, schemas, comb(n, 3) if tripled else 0)
        hits = 2 * most_hits(n, hashes)
        places = 1 << hits.bit_length()
        keys = np.zeros(n + n // 2 + 1, np.int64)
        self.memory = Memory(
            keys, keys.view(np.int32), np.empty(n, np.int32), np.empty(n, np.uint32), np.zeros(slots, np.uint32),
            np.empty(2 * n, np.int64), np.zeros(slots, np.uint64), np.empty(hashes, np.uint64),
            np.zeros(places + 1, np.int64), np.empty(hits, np.int64), np.empty(hits, np.int64),
            np.zeros(3, np.int64), np.zeros(2, np.int64), np.zeros(1, np.int32), np.zeros(2, np.int64),
            np.empty(room, np.int32),
        )  # fmt: skip
        self.handle, self.bytes = handle_of(self.memory), keys.data

    def more_room(self) -> "Frame":
        """A frame for twice the matches, with the same pairs in it."""
        larger = Frame(self.index, self.slots, self.schemas, self.tripled, self.pairs, 2 * len(self.memory.out))
        larger.memory.keys[:] = self.memory.keys
        return larger

    def pack(self, pairs: SinglePairs) -> None:
        """Write the pairs of an event into the frame."""
        numbers, keys, attrs = pairs
        layout_of(len(numbers), len(keys)).pack_into(self.bytes, 0, *numbers, *keys, *attrs)

    def sample(self, count: int) -> Sample:
        """The packed event, once it was matched, to be kept."""
        return Sample(
            np.array([0, count]), self.memory.packed[2 * count : 3 * count].copy(), self.memory.keys[:count].copy()
        )

    def batch(self, count: int) -> EventBatch:
        """The packed event, once it was matched, as a batch of one."""
        attrs = self.memory.packed[2 * count : 3 * count]
        order = np.argsort(attrs)
        columns = (attrs[order], self.memory.keys[:count][order], np.full(count, -1, np.int32))
        return EventBatch(np.array([0, count]), *columns, (), False)


@lru_cache(1024)
def layout_of(numbers: int, keys: int) -> Struct:
    """How a packed event lies in memory."""
    return Struct(f"={numbers}d{keys}q{numbers + keys}i")


@leaf
def memory_view(frame: Int64Array) -> Memory:
    """The arrays behind the handle of a frame."""
    return Memory(
        view_int64(frame, 0), view_int32(frame, 1), view_int32(frame, 2), view_uint32(frame, 3), view_uint32(frame, 4),
        view_int64(frame, 5), view_uint64(frame, 6), view_uint64(frame, 7), view_int64(frame, 8), view_int64(frame, 9),
        view_int64(frame, 10), view_int64(frame, 11), view_int64(frame, 12), view_int32(frame, 13), view_int64(frame, 14),
        view_int32(frame, 15),
    )  # fmt: skip


@leaf
def rank_pairs(handle: Int64Array, memory: Memory, attrs: Int32Array, at: int, keys: Int64Array, count: int) -> None:
    """Fill slots and codes of the pairs.

    There is no other event to work on while memory answers, so the pairs go through each step together: every step asks for
    what the next one reads.
    """
    index = index_view(handle)
    ranks, jumps, values, starts = index.ranks, index.jumps, index.keys.values, index.narrow.starts
    slots, codes = memory.slots, memory.codes
    for i in range(count):
        attr = attrs[at + i]
        s = ranks.slots[attr] if attr < len(ranks.slots) else -1
        slots[i], codes[i] = s, 0
        if s >= 0:
            codes[i] = jump_of(jumps, ranks.starts[s], ranks.starts[s + 1], s, keys[i])
            prefetch(jumps.before, codes[i])
    for i in range(count):
        if slots[i] >= 0:
            start = ranks.starts[slots[i]]
            prefetch(ranks.bounds, start + jumps.before[codes[i]])
            prefetch(ranks.bounds, start + jumps.before[codes[i] + 1])
    for i in range(count):
        s = slots[i]
        if s >= 0:
            codes[i] = code_from(jumps, ranks.bounds, ranks.starts[s], codes[i], keys[i])
            if values[s] >= 0:
                prefetch(starts, values[s] + codes[i])


@leaf
def match_pairs(
    handle: Int64Array,
    dead: NDArray[np.uint8],
    memory: Memory,
    attrs: Int32Array,
    at: int,
    keys: Int64Array,
    count: int,
) -> int:
    """Matches of the event with attrs[at:at+count] and keys[:count], each attribute once: how many of `out` they take.

    Counters (see `Scratch`) are set, not added to.
    """
    rank_pairs(handle, memory, attrs, at, keys, count)
    if memory.seen[-1] >= WORN_OUT:
        for i in range(len(memory.seen)):
            memory.seen[i] = 0
    memory.bounds[1] = count
    memory.counters[0], memory.counters[1], memory.counters[2] = 0, 0, 0
    scratch = Scratch(
        memory.atoms, memory.mixed, memory.hashes, memory.seen, memory.hits, memory.next_hits, memory.counters
    )
    done = match_events(
        handle, dead, memory.bounds, memory.order, memory.slots, memory.codes, memory.event, scratch, 0,
        memory.offsets, memory.out,
    )  # fmt: skip
    return memory.offsets[1] if done else FULL


@leaf
def match_packed(handle: Int64Array, dead: NDArray[np.uint8], frame: Int64Array, count: int, numbers: int) -> int:
    """Matches of the `count` pairs packed in a frame, of which the first are `numbers`, which become keys in place.

    Returns how many there are, FULL or REFUSED.
    """
    memory = memory_view(frame)
    keys = memory.keys
    for i in range(numbers):
        size = keys[i] & FOLD
        if size >= EXACT_BITS:
            return REFUSED
        keys[i] = keys[i] if keys[i] >= 0 else (0 if size == 0 else keys[i] ^ FOLD)
    return match_pairs(handle, dead, memory, memory.packed, 2 * count, keys, count)


@leaf
def match_one(
    handle: Int64Array, dead: NDArray[np.uint8], frame: Int64Array, attrs: Int32Array, keys: Int64Array
) -> int:
    """Matches of an event with the given pairs, each attribute once: how many there are, or FULL."""
    return match_pairs(handle, dead, memory_view(frame), attrs, 0, keys, len(attrs))
