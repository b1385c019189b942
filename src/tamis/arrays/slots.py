"""Open addressing from 64-bit hashes to item numbers: linear probing, deletion by shifting back, no tombstones.

The table knows hashes and item numbers only. `find` compares one column of the caller's; who needs more walks the probe
sequence and compares its own keys:

    slot = first_slot(table, h)
    while table.items[slot] >= 0:
        if table.hashes[slot] == h and <the item's key is mine>: found
        slot = slot + 1 & len(table.items) - 1
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf


class Slots(NamedTuple):
    """`hashes` int64[2^k], `items` int32[2^k] (-1: empty), `used` int64[1]: number of items."""

    hashes: NDArray[np.int64]
    items: NDArray[np.int32]
    used: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.hashes.nbytes + self.items.nbytes + self.used.nbytes


def new_slots(capacity: int = 1024) -> Slots:
    """An empty table; `capacity` is a power of two."""
    return Slots(np.zeros(capacity, np.int64), np.full(capacity, -1, np.int32), np.zeros(1, np.int64))


def with_room(slots: Slots, extra: int = 1) -> Slots:
    """The table itself if `extra` more items leave it at most half full, else a larger one with the same items."""
    capacity = len(slots.items)
    while 2 * (slots.used[0] + extra) > capacity:
        capacity *= 2
    if capacity == len(slots.items):
        return slots
    larger = new_slots(capacity)
    refill(slots, larger)
    return larger


@leaf
def mix(h: int, value: int) -> int:
    """A hash of the pair (h, value), by two wrapping multiplications; never the same for swapped small integers."""
    x = (np.uint64(h) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(value)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(32)
    return int(np.int64(x))


@leaf
def first_slot(slots: Slots, h: int) -> int:
    """Where the probe sequence of a hash begins."""
    return h & (len(slots.items) - 1)


@leaf
def find(slots: Slots, h: int, column: NDArray[Any], value: int) -> int:
    """The item with this hash whose `column` holds `value`, or -1."""
    slot = first_slot(slots, h)
    while slots.items[slot] >= 0:
        item = slots.items[slot]
        if slots.hashes[slot] == h and column[item] == value:
            return int(item)
        slot = (slot + 1) & (len(slots.items) - 1)
    return -1


@leaf
def has_room(slots: Slots, extra: int) -> bool:
    """Whether `extra` more items leave the table at most half full."""
    return bool(2 * (slots.used[0] + extra) <= len(slots.items))


@leaf
def put(slots: Slots, h: int, item: int) -> None:
    """Add an item that is not there; mutates the table."""
    slot = h & (len(slots.items) - 1)
    while slots.items[slot] >= 0:
        slot = (slot + 1) & (len(slots.items) - 1)
    slots.hashes[slot] = h
    slots.items[slot] = item
    slots.used[0] += 1


@leaf
def drop(slots: Slots, h: int, item: int) -> None:
    """Remove an item that is there, and move later ones of its run back; mutates the table."""
    mask = len(slots.items) - 1
    hole = h & mask
    while slots.items[hole] != item:
        hole = (hole + 1) & mask
    at = hole
    while True:
        at = (at + 1) & mask
        if slots.items[at] < 0:
            break
        if (at - (slots.hashes[at] & mask)) & mask >= (at - hole) & mask:
            slots.hashes[hole] = slots.hashes[at]
            slots.items[hole] = slots.items[at]
            hole = at
    slots.items[hole] = -1
    slots.used[0] -= 1


@leaf
def refill(source: Slots, target: Slots) -> None:
    """Put every item of `source` into the empty, larger `target`."""
    for slot in range(len(source.items)):
        if source.items[slot] >= 0:
            put(target, source.hashes[slot], source.items[slot])
