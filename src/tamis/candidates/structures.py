"""Attribute structures and buckets: the organisation of PUBSUB (paper 004, section 3).

A *bucket* holds rows. A *structure* belongs to a bucket and an attribute, and spreads rows over buckets of its own by what
they ask of the attribute, through one of the ways D below. Rows take their attributes in a fixed order: a bucket reached
through k structures holds rows whose first k attributes are those of the structures. One hash table finds structures by
(bucket, attribute). The header, bucket 0, has a structure for every attribute that is some row's first.

A structure is one bucket until it holds more rows than a bucket should; then D spreads them. A bucket with more rows than
it should, which D cannot tell apart, hands those with a further attribute to structures below it, and keeps the others,
however many. Removal undoes both. So the whole is a function of the rows it holds: no order of changes leaves a trace.

    D = HASH    a bucket for each constant asked for by equality, and one for all else
    D = IT      an interval tree over the cells of a finite domain: a bucket for the intervals kept at one node
    D = RBPST   a red-black priority search tree: a bucket for the intervals with one *hull*, the smallest aligned
                power-of-two range of keys around them; a hull is a point (lo, hi), and a value v finds lo <= v <= hi
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays import interval_tree, priority_tree
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.ordered import cell, float_of
from tamis.arrays.pool import SMALLEST, Pool, give, new_pool, size_class, take
from tamis.arrays.pool import enlarged as enlarged_pool
from tamis.arrays.slots import Slots, drop, first_slot, mix, new_slots, put, with_room
from tamis.arrays.slots import has_room as room_in
from tamis.candidates.rows import Columns, longer
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, Int32Array, Int64Array
from tamis.predicates.cover import cover

HASH, IT, RBPST = range(3)
HEADER = 0
CELL_BITS = 16
LAST_CELL = (1 << CELL_BITS) - 1
BUCKETS, FREE_BUCKET, LIVE_BUCKETS, STRUCTURES, FREE_STRUCTURE, LIVE_STRUCTURES, LARGEST = range(7)


class Ways(NamedTuple):
    """Per attribute: `kind` uint8 which D; for IT the cells of a declared domain: `base`, `scale` float64 (scale 0: none
    declared, cells are the upper bits of keys)."""

    kind: NDArray[np.uint8]
    base: NDArray[np.float64]
    scale: NDArray[np.float64]


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
def cells_left(pool: Pool) -> int:
    """Pool cells never handed out."""
    return (len(pool.link) << SMALLEST) - pool.top[0]


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
def position(w: Ways, attr: int, key: int) -> int:
    """The cell of a key for IT. Never decreases with the key, so intervals stay intervals."""
    if w.scale[attr] == 0.0:
        return (key >> (64 - CELL_BITS)) + (1 << (CELL_BITS - 1))
    if key < NUMBER_MIN:
        return 0
    return LAST_CELL if key > NUMBER_MAX else cell(float_of(key), w.base[attr], w.scale[attr], LAST_CELL + 1)


@leaf
def hull(lo: int, hi: int) -> tuple[int, int]:
    """The smallest range of 2^n keys, aligned to 2^n, that contains both."""
    sign = np.uint64(1 << 63)
    below = np.uint64(lo) ^ np.uint64(hi)
    for shift in (1, 2, 4, 8, 16, 32):
        below |= below >> np.uint64(shift)
    base = np.uint64(lo) ^ sign
    return np.int64((base & ~below) ^ sign), np.int64((base | below) ^ sign)  # type: ignore[return-value]


@leaf
def new_bucket(s: Structures, z: int, level: int) -> int:
    """An empty bucket of a structure (-1: the header), not yet known to D."""
    b = int(s.top[FREE_BUCKET])
    if b >= 0:
        s.top[FREE_BUCKET] = s.b_next[b]
    else:
        b = int(s.top[BUCKETS])
        s.top[BUCKETS] += 1
    s.top[LIVE_BUCKETS] += 1
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
    z = int(s.top[FREE_STRUCTURE])
    if z >= 0:
        s.top[FREE_STRUCTURE] = s.z_next[z]
    else:
        z = int(s.top[STRUCTURES])
        s.top[STRUCTURES] += 1
    s.top[LIVE_STRUCTURES] += 1
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
    h = mix(b, attr)
    slot = first_slot(s.structures, h)
    while s.structures.items[slot] >= 0:
        z = s.structures.items[slot]
        if s.structures.hashes[slot] == h and s.z_attr[z] == attr:
            return int(z)
        slot = (slot + 1) & (len(s.structures.items) - 1)
    return -1


@leaf
def bucket_of_constant(s: Structures, z: int, key: int) -> int:
    """HASH: the bucket of an equality, or -1."""
    h = mix(z, key)
    slot = first_slot(s.constants, h)
    while s.constants.items[slot] >= 0:
        b = s.constants.items[slot]
        if s.constants.hashes[slot] == h and s.b_lo[b] == key:
            return int(b)
        slot = (slot + 1) & (len(s.constants.items) - 1)
    return -1


@leaf
def bucket_for(s: Structures, w: Ways, z: int, lo: int, hi: int) -> int:
    """The bucket of a structure where rows asking for keys lo..hi belong, made known to D when new."""
    if not s.z_open[z]:
        return s.z_only[z]
    kind = w.kind[s.z_attr[z]]
    level = s.b_level[s.z_bucket[z]] + 1
    if kind == HASH:
        if lo != hi:
            if s.z_only[z] < 0:
                s.z_only[z] = new_bucket(s, z, level)
            return s.z_only[z]
        b = bucket_of_constant(s, z, lo)
        if b < 0:
            b = new_bucket(s, z, level)
            s.b_lo[b] = s.b_hi[b] = lo
            put(s.constants, mix(z, lo), b)
        return b
    if kind == IT:
        first = position(w, s.z_attr[z], lo)
        last = max(first, position(w, s.z_attr[z], hi))  # an empty interval stands somewhere and matches nothing
        node = interval_tree.node_of(s.intervals, s.z_root[z], 0, LAST_CELL, first, last)
        if node >= 0 and s.intervals.item[node] >= 0:
            return s.intervals.item[node]
        b = new_bucket(s, z, level)
        root, node = interval_tree.keep(s.intervals, s.z_root[z], 0, LAST_CELL, first, last, b)
        s.z_root[z], s.b_lo[b], s.b_hi[b] = root, node, node
        return b
    first, last = hull(lo, hi)
    node = priority_tree.find(s.priorities, s.z_root[z], first, last)
    if node >= 0:
        return s.priorities.item[node]
    b = new_bucket(s, z, level)
    s.b_lo[b], s.b_hi[b] = first, last
    s.z_root[z] = priority_tree.insert(s.priorities, s.z_root[z], first, last, b)
    return b


@leaf
def drop_bucket(s: Structures, w: Ways, b: int) -> None:
    """Take a bucket that has nothing below it out of its structure and of D."""
    z = s.b_structure[b]
    if s.z_only[z] == b:
        s.z_only[z] = -1
    elif w.kind[s.z_attr[z]] == HASH:
        drop(s.constants, mix(z, s.b_lo[b]), b)
    elif w.kind[s.z_attr[z]] == IT:
        s.z_root[z] = interval_tree.forget(s.intervals, s.z_root[z], s.b_lo[b])
    else:
        node = priority_tree.find(s.priorities, s.z_root[z], s.b_lo[b], s.b_hi[b])
        s.z_root[z] = priority_tree.remove(s.priorities, s.z_root[z], node)
    before, after = s.b_prev[b], s.b_next[b]
    if before >= 0:
        s.b_next[before] = after
    else:
        s.z_first[z] = after
    if after >= 0:
        s.b_prev[after] = before
    release_block(s, b)
    s.b_level[b] = -1
    s.b_next[b] = s.top[FREE_BUCKET]
    s.top[FREE_BUCKET] = b
    s.top[LIVE_BUCKETS] -= 1


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
    s.z_next[z] = s.top[FREE_STRUCTURE]
    s.top[FREE_STRUCTURE] = z
    s.top[LIVE_STRUCTURES] -= 1


@leaf
def release_block(s: Structures, b: int) -> None:
    """Give a bucket's cells back."""
    if s.b_block[b] >= 0:
        give(s.pool, s.b_start[b], s.b_block[b])
    s.b_block[b] = -1
    s.b_size[b] = 0


@leaf
def copy_cell(s: Structures, source: int, target: int) -> None:
    """One cell to another place."""
    s.row[target], s.attr[target] = s.row[source], s.attr[source]
    s.lo[target], s.hi[target] = s.lo[source], s.hi[source]


@leaf
def append(s: Structures, c: Columns, leading: Int32Array, b: int, row: int, ordered: bool) -> None:
    """Add a row to a bucket, at its place by (attribute, interval start) or at the end; there is room."""
    size = s.b_size[b]
    if s.b_block[b] < 0 or size == 1 << s.b_block[b]:
        block = size_class(size + 1)
        start = take(s.pool, block)
        if s.b_block[b] >= 0:
            for i in range(size):
                copy_cell(s, s.b_start[b] + i, start + i)
            give(s.pool, s.b_start[b], s.b_block[b])
        s.b_start[b], s.b_block[b] = start, block
    attr, lo, hi = -1, 0, 0
    if leading[row] > s.b_level[b]:
        attr = c.attrs[c.first[row] + s.b_level[b]]
        lo, hi = cover(attr, c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets)
    start = s.b_start[b]
    at = start + size
    if ordered:
        at = bound(s, start, at, attr, lo)
        for i in range(start + size, at, -1):
            copy_cell(s, i - 1, i)
    s.row[at], s.attr[at], s.lo[at], s.hi[at] = row, attr, lo, hi
    s.b_size[b] = size + 1
    s.place[row] = b
    s.top[LARGEST] = max(s.top[LARGEST], size + 1)


@leaf
def bound(s: Structures, first: int, last: int, attr: int, lo: int) -> int:
    """The first of the ordered cells first:last that comes after (attr, lo)."""
    while first < last:
        middle = (first + last) >> 1
        if s.attr[middle] < attr or (s.attr[middle] == attr and s.lo[middle] <= lo):
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def place_all(
    s: Structures,
    w: Ways,
    c: Columns,
    leading: Int32Array,
    rows: Int32Array,
    done: int,
    waiting: Int32Array,
    start: Int32Array,
    count: int,
    capacity: int,
    ordered: bool,
) -> tuple[int, int]:
    """Insert rows[done:] (figure 3 of the paper); returns (done, count), with count > 0 or done short when room is needed.

    Rows on their way stand in waiting[:count], from the bucket start[i] or in the structure -1 - start[i] on; both int32
    with room for every row there is. Mutates the structures and these."""
    while count or done < len(rows):
        if not has_room(s):
            break
        if not count:
            waiting[0], start[0], count = rows[done], HEADER, 1
            s.b_total[HEADER] += 1
            done += 1
        count -= 1
        row = waiting[count]
        b, z = start[count], -1
        if b < 0:
            b, z = -1, -1 - b
        while True:
            if z < 0:
                level = s.b_level[b]
                if not s.b_opened[b] and s.b_total[b] > capacity:  # full: hand over the rows that have a next attribute
                    s.b_opened[b] = 1
                    kept = 0
                    for i in range(s.b_start[b], s.b_start[b] + s.b_size[b]):
                        if s.attr[i] >= 0:
                            waiting[count], start[count] = s.row[i], b
                            count += 1
                        else:
                            copy_cell(s, i, s.b_start[b] + kept)
                            kept += 1
                    s.b_size[b] = kept
                    if kept == 0:
                        release_block(s, b)
                if not s.b_opened[b] or leading[row] <= level:
                    append(s, c, leading, b, row, ordered)
                    break
                attr = c.attrs[c.first[row] + level]
                z = structure_at(s, b, attr)
                if z < 0:
                    z = new_structure(s, b, attr)
                s.z_total[z] += 1
            if not s.z_open[z] and s.z_total[z] > capacity:  # full: from now on D decides
                s.z_open[z] = 1
                only = s.z_only[z]
                for i in range(s.b_start[only], s.b_start[only] + s.b_size[only]):
                    waiting[count], start[count] = s.row[i], -1 - z
                    count += 1
                drop_bucket(s, w, only)
            lo, hi = cover(s.z_attr[z], c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets)
            b, z = bucket_for(s, w, z, lo, hi), -1
            s.b_total[b] += 1
    return done, count


@kernel
def order_all(s: Structures) -> None:
    """Sort every bucket by (first attribute not used above, interval start); mutates the cells."""
    for b in range(s.top[BUCKETS]):
        first, size = s.b_start[b], s.b_size[b]
        if s.b_level[b] < 0 or size < 2:
            continue
        last = first + size
        order = np.argsort(s.lo[first:last], kind="mergesort")
        order = order[np.argsort(s.attr[first:last][order], kind="mergesort")]
        s.row[first:last] = s.row[first:last][order]
        s.attr[first:last] = s.attr[first:last][order]
        s.lo[first:last] = s.lo[first:last][order]
        s.hi[first:last] = s.hi[first:last][order]


@kernel
def take_out(s: Structures, rows: Int32Array) -> Int32Array:
    """Take rows out of their buckets and of all totals above; returns the buckets touched, each once. Mutates."""
    touched = np.empty(len(rows), np.int32)
    for i in range(len(rows)):
        b = s.place[rows[i]]
        touched[i] = b
        s.place[rows[i]] = -1
        while True:
            s.b_total[b] -= 1
            z = s.b_structure[b]
            if z < 0:
                break
            s.z_total[z] -= 1
            b = s.z_bucket[z]
    touched = np.unique(touched)
    for k in range(len(touched)):
        b = touched[k]
        kept = s.b_start[b]
        for i in range(s.b_start[b], s.b_start[b] + s.b_size[b]):
            if s.place[s.row[i]] == b:
                copy_cell(s, i, kept)
                kept += 1
        s.b_size[b] = kept - s.b_start[b]
        if s.b_size[b] == 0:
            release_block(s, b)
    return touched


@leaf
def dissolve(s: Structures, w: Ways, b: int, rows: Int32Array, n: int) -> int:
    """Remove all structures below a bucket and write their rows to rows[n:]; returns the new n."""
    top = b
    while True:
        if s.b_below[b] >= 0:
            z = s.b_below[b]
            if s.z_first[z] >= 0:
                b = s.z_first[z]
            else:
                drop_structure(s, z)
            continue
        if b == top:
            return n
        for i in range(s.b_start[b], s.b_start[b] + s.b_size[b]):
            rows[n] = s.row[i]
            n += 1
        above = s.z_bucket[s.b_structure[b]]
        drop_bucket(s, w, b)
        b = above


@kernel
def tidy(
    s: Structures,
    w: Ways,
    c: Columns,
    leading: Int32Array,
    touched: Int32Array,
    done: int,
    capacity: int,
    ordered: bool,
) -> int:
    """Close what fell to `capacity` rows above the buckets touched[done:]; returns how far, short when room is needed."""
    rows = np.empty(capacity, np.int32)
    for k in range(done, len(touched)):
        if cells_left(s.pool) < 4 * max(capacity, s.top[LARGEST]) + 64 or not has_room(s):
            return k
        b = touched[k]
        if s.b_level[b] < 0:
            continue
        shut_b, shut_z = -1, -1  # the highest to close
        while s.b_structure[b] >= 0:
            z = s.b_structure[b]
            if s.b_total[b] == 0 or (s.b_opened[b] and s.b_total[b] <= capacity):
                shut_b, shut_z = b, -1
            if s.z_total[z] == 0 or (s.z_open[z] and s.z_total[z] <= capacity):
                shut_b, shut_z = -1, z
            b = s.z_bucket[z]
        n = 0
        if shut_z >= 0:
            while s.z_first[shut_z] >= 0:
                b = s.z_first[shut_z]
                n = dissolve(s, w, b, rows, n)
                for i in range(s.b_start[b], s.b_start[b] + s.b_size[b]):
                    rows[n] = s.row[i]
                    n += 1
                drop_bucket(s, w, b)
            s.z_open[shut_z] = 0
            if n == 0:
                drop_structure(s, shut_z)
                continue
            shut_b = new_bucket(s, shut_z, s.b_level[s.z_bucket[shut_z]] + 1)
            s.z_only[shut_z] = shut_b
            s.b_total[shut_b] = n
        elif shut_b >= 0:
            n = dissolve(s, w, shut_b, rows, n)
            s.b_opened[shut_b] = 0
            if s.b_total[shut_b] == 0:
                drop_bucket(s, w, shut_b)
        for i in range(n):
            append(s, c, leading, shut_b, rows[i], ordered)
    return len(touched)
