"""D: the ways to spread the rows of a structure over its buckets, and to find the buckets of a value."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays import interval_tree, priority_tree
from tamis.arrays.jit import leaf
from tamis.arrays.numbers import give_number
from tamis.arrays.ordered import cell, float_of
from tamis.arrays.slots import drop, find, mix, put
from tamis.candidates.buckets.layout import BUCKETS, CELL_BITS, Structures, new_bucket, release_block
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, Int32Array, Int64Array

HASH, IT, RBPST = range(3)
LAST_CELL = (1 << CELL_BITS) - 1


class Ways(NamedTuple):
    """Per attribute: `kind` uint8 which D; for IT the cells of a declared domain: `base`, `scale` float64 (scale 0: none
    declared, cells are the upper bits of keys)."""

    kind: NDArray[np.uint8]
    base: NDArray[np.float64]
    scale: NDArray[np.float64]


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
def bucket_of_constant(s: Structures, z: int, key: int) -> int:
    """HASH: the bucket of an equality, or -1."""
    return find(s.constants, mix(z, key), s.b_lo, key)


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
    give_number(s.top, BUCKETS, s.b_next, b)


@leaf
def buckets_found(
    s: Structures,
    w: Ways,
    z: int,
    keys: Int64Array,
    begin: int,
    end: int,
    low: int,
    high: int,
    nodes: Int32Array,
    cells: Int64Array,
    out: Int32Array,
) -> int:
    """Buckets of a structure that can hold what the values keys[begin:end], spanning low..high, satisfy; returns how many.

    `nodes` and `cells` are scratch, `out` has room for every bucket there is."""
    if not s.z_open[z]:
        out[0] = s.z_only[z]
        return 1
    kind = w.kind[s.z_attr[z]]
    if kind == RBPST:
        return priority_tree.search(s.priorities, s.z_root[z], high, low, nodes, out)
    if kind == IT:
        a, b = position(w, s.z_attr[z], low), position(w, s.z_attr[z], high)
        return interval_tree.search(s.intervals, s.z_root[z], 0, LAST_CELL, a, b, cells, out)
    n = 0
    if s.z_only[z] >= 0:
        out[0], n = s.z_only[z], 1
    for i in range(begin, end):
        b = bucket_of_constant(s, z, keys[i])
        repeated = False
        for j in range(begin, i):
            repeated |= keys[j] == keys[i]
        if b >= 0 and not repeated:
            out[n] = b
            n += 1
    return n
