"""Rows come and go; what is too full opens, what has shrunk closes (figure 3 of the paper and its inverse)."""

import numpy as np

from tamis.arrays.jit import kernel, leaf
from tamis.arrays.pool import cells_left
from tamis.candidates.buckets.cells import append, copy_cell
from tamis.candidates.buckets.layout import (
    HEADER,
    LARGEST,
    Structures,
    drop_structure,
    has_room,
    new_bucket,
    new_structure,
    release_block,
    structure_at,
)
from tamis.candidates.buckets.ways import Ways, bucket_for, drop_bucket
from tamis.candidates.rows import Columns
from tamis.encoding.keys import Int32Array
from tamis.predicates.cover import cover


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
