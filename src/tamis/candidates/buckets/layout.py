"""Buckets, structures and cells as arrays, and the room they need."""

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import interval_tree, priority_tree
from tamis.arrays.jit import leaf
from tamis.arrays.numbers import give_number, take_number
from tamis.arrays.pool import Pool, cells_left, give, new_pool
from tamis.arrays.pool import enlarged as enlarged_pool
from tamis.arrays.slots import Slots, drop, find, mix, new_slots, put, with_room
from tamis.arrays.slots import has_room as room_in
from tamis.candidates.rows import longer
from tamis.encoding.keys import Int32Array, Int64Array

HEADER = 0
CELL_BITS = 16
BUCKETS, FREE_BUCKET, LIVE_BUCKETS, STRUCTURES, FREE_STRUCTURE, LIVE_STRUCTURES, LARGEST = range(7)


class Structures(NamedTuple):
    """Buckets (b_…, int32 but where said): `b_structure` it belongs to, `b_level` structures above it (-1: free),
    `b_total` rows in it and below, `b_opened` 0/1 whether rows were handed below, `b_next`/`b_prev` in its structure,
    `b_below` first structure below, `b_width` how many, `b_size` rows in it, `b_block`/`b_start` (int64) its cells in the
    pool, `b_lo`/`b_hi` (int64) what D knows it by.
    Structures (z_…, int32): `z_attr`, `z_bucket` it belongs to, `z_total` rows below, `z_open` 0/1 whether D is in use,
    `z_first` bucket, `z_only` the one bucket while closed, and for HASH the bucket of all else, `z_root` of D's tree,
    `z_next`/`z_prev` at the same bucket.
    Cells: `row`, `attr` int32 and `lo`, `hi` int64: a row with its first attribute not used above (-1: none) and the
    interval it asks of that. `place` int32[rows]: bucket of a row. `structures` finds structures by (bucket, attribute),
    `constants` buckets by (structure, key); `intervals`, `priorities`: the trees. `top` int64[7]: counters named above."""

    b_structure: Int32Array
    b_level: Int32Array
    b_total: Int32Array
    b_opened: Int32Array
    b_next: Int32Array
    b_prev: Int32Array
    b_below: Int32Array
    b_width: Int32Array
    b_size: Int32Array
    b_block: Int32Array
    b_start: Int64Array
    b_lo: Int64Array
    b_hi: Int64Array
    z_attr: Int32Array
    z_bucket: Int32Array
    z_total: Int32Array
    z_open: Int32Array
    z_first: Int32Array
    z_only: Int32Array
    z_root: Int32Array
    z_next: Int32Array
    z_prev: Int32Array
    row: Int32Array
    attr: Int32Array
    lo: Int64Array
    hi: Int64Array
    place: Int32Array
    structures: Slots
    constants: Slots
    pool: Pool
    intervals: interval_tree.IntervalTrees
    priorities: priority_tree.PriorityTrees
    top: Int64Array

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(part.nbytes for part in self)


B_FIELDS = [name for name in Structures._fields if name.startswith("b_")]
Z_FIELDS = [name for name in Structures._fields if name.startswith("z_")]
LONG = {"b_start", "b_lo", "b_hi", "lo", "hi"}


def new_structures() -> Structures:
    """The header alone."""
    pool = new_pool()
    sizes = dict.fromkeys(B_FIELDS + Z_FIELDS, 16) | dict.fromkeys(("row", "attr", "lo", "hi"), pool.capacity)
    fields: dict[str, Any] = {n: np.empty(size, np.int64 if n in LONG else np.int32) for n, size in sizes.items()}
    made = Structures(
        **fields,
        place=np.empty(0, np.int32),
        structures=new_slots(64),
        constants=new_slots(64),
        pool=pool,
        intervals=interval_tree.new_interval_trees(),
        priorities=priority_tree.new_priority_trees(),
        top=np.array([0, -1, 0, 0, -1, 0, 0], np.int64),
    )
    new_bucket(made, -1, 0)
    made.b_opened[HEADER] = 1
    return made


def with_rows(s: Structures, rows: int) -> Structures:
    """Able to place rows with numbers below `rows`."""
    return s._replace(place=longer(s.place, rows, -1))


def enlarged(s: Structures) -> Structures:
    """With more room wherever it may be short."""
    buckets = {name: longer(getattr(s, name), int(s.top[BUCKETS]) + 4) for name in B_FIELDS}
    structures = {name: longer(getattr(s, name), int(s.top[STRUCTURES]) + 4) for name in Z_FIELDS}
    pool = s.pool if cells_left(s.pool) >= cells_needed(s) else enlarged_pool(s.pool, cells_needed(s))
    cells = {name: longer(getattr(s, name), pool.capacity) for name in ("row", "attr", "lo", "hi")}
    deep = interval_tree.has_room(s.intervals, CELL_BITS + 2)
    return s._replace(
        **buckets,
        **structures,
        **cells,
        pool=pool,
        structures=with_room(s.structures, 2),
        constants=with_room(s.constants, 2),
        intervals=s.intervals if deep else interval_tree.enlarged(s.intervals),
        priorities=s.priorities if priority_tree.has_room(s.priorities) else priority_tree.enlarged(s.priorities),
    )


@leaf
def cells_needed(s: Structures) -> int:
    """Pool cells one placement may take: the largest bucket may have to move to a block of twice its size."""
    return 4 * s.top[LARGEST] + 64


@leaf
def has_room(s: Structures) -> bool:
    """Whether one more row can be placed anywhere without larger arrays."""
    known = s.top[BUCKETS] + 3 <= len(s.b_level) and s.top[STRUCTURES] + 2 <= len(s.z_attr)
    found = room_in(s.structures, 2) and room_in(s.constants, 2)
    trees = interval_tree.has_room(s.intervals, CELL_BITS + 2) and priority_tree.has_room(s.priorities)
    return bool(known and found and trees and cells_left(s.pool) >= cells_needed(s))


@leaf
def new_bucket(s: Structures, z: int, level: int) -> int:
    """An empty bucket of a structure (-1: the header), not yet known to D."""
    b = take_number(s.top, BUCKETS, s.b_next)
    s.b_structure[b], s.b_level[b] = z, level
    s.b_total[b] = s.b_opened[b] = s.b_size[b] = s.b_width[b] = 0
    s.b_block[b] = s.b_below[b] = s.b_prev[b] = s.b_next[b] = -1
    if z >= 0:
        s.b_next[b] = s.z_first[z]
        if s.z_first[z] >= 0:
            s.b_prev[s.z_first[z]] = b
        s.z_first[z] = b
    return b


@leaf
def new_structure(s: Structures, b: int, attr: int) -> int:
    """A closed structure at a bucket, with its one bucket."""
    z = take_number(s.top, STRUCTURES, s.z_next)
    s.z_attr[z], s.z_bucket[z] = attr, b
    s.z_total[z] = s.z_open[z] = 0
    s.z_first[z] = s.z_root[z] = s.z_prev[z] = -1
    s.z_next[z] = s.b_below[b]
    if s.b_below[b] >= 0:
        s.z_prev[s.b_below[b]] = z
    s.b_below[b] = z
    s.b_width[b] += 1
    put(s.structures, mix(b, attr), z)
    s.z_only[z] = new_bucket(s, z, s.b_level[b] + 1)
    return z


@leaf
def structure_at(s: Structures, b: int, attr: int) -> int:
    """The structure of an attribute at a bucket, or -1."""
    return find(s.structures, mix(b, attr), s.z_attr, attr)


@leaf
def drop_structure(s: Structures, z: int) -> None:
    """Take a structure without buckets out of its bucket."""
    b = s.z_bucket[z]
    drop(s.structures, mix(b, s.z_attr[z]), z)
    before, after = s.z_prev[z], s.z_next[z]
    if before >= 0:
        s.z_next[before] = after
    else:
        s.b_below[b] = after
    if after >= 0:
        s.z_prev[after] = before
    s.b_width[b] -= 1
    give_number(s.top, STRUCTURES, s.z_next, z)


@leaf
def release_block(s: Structures, b: int) -> None:
    """Give a bucket's cells back."""
    if s.b_block[b] >= 0:
        give(s.pool, s.b_start[b], s.b_block[b])
    s.b_block[b] = -1
    s.b_size[b] = 0
