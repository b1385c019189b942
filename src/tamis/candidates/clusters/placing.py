"""Clusters: conjunctions grouped under access predicates, stored by columns (Fabret et al., sections 2.2 and 3.1).

An *access predicate* is a set of equality predicates with different attributes. While it is unsatisfied, nothing under it
can match. Under an access predicate, conjunctions with equally many predicates left to test form a cluster: one
column of predicate ids for each predicate left, and a line of conjunction ids.

    entry ── head ─→ cluster (width 1) ── after ─→ cluster (width 3) …
                       column 0   | p p p p … |
                       line       | c c c c … |

Access predicates of one attribute are reached by predicate id; those of several by a hash over their predicate ids. Entry
ALWAYS holds conjunctions without equality predicates. Entries, clusters and blocks of cells are used again once freed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel, leaf
from tamis.arrays.pool import Pool, fits, give, size_class, take
from tamis.arrays.slots import Slots, drop, first_slot, has_room, mix, put
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import IN

ALWAYS = 0  # the entry without a predicate
SINGLES = 0  # the number that stands for all tables of one attribute
WIDEST = 4  # attributes of an access predicate, at most
MADE, FREE = 0, 1  # cells of `counts`


class Access(NamedTuple):
    """Access predicates. Columns by entry: table int32 (-1: free), keys int32[·, WIDEST]: predicate ids (-1: none), chance
    float64 that an event satisfies it, rows int32: conjunctions under it, head int32: first cluster or -1.

    single int32 by predicate id: the entry that is this predicate alone, or -1; slots: entries of several predicates by
    hash; stack int32: free entries; counts int64[2]: (entries made, entries free); benefit float64 by table.
    """

    table: Int32Array
    keys: Int32Array
    chance: NDArray[np.float64]
    rows: Int32Array
    head: Int32Array
    single: Int32Array
    slots: Slots
    stack: Int32Array
    counts: Int64Array
    benefit: NDArray[np.float64]


class Clusters(NamedTuple):
    """Columns by cluster: start int64 of its cells, in a block of class `block` int8 (0: free), room int32: rows that fit,
    size int32: rows there are, width int32: columns before the line, after int32: next cluster of the entry, entry int32.

    place int32[conjunctions, 2]: (cluster, row) of a conjunction; cells int32 in blocks of `pool`; stack int32: free
    clusters; counts int64[2]: (clusters made, clusters free). Column k of cluster i starts at start[i] + k * room[i].
    """

    start: Int64Array
    block: NDArray[np.int8]
    room: Int32Array
    size: Int32Array
    width: Int32Array
    after: Int32Array
    entry: Int32Array
    place: Int32Array
    cells: Int32Array
    pool: Pool
    stack: Int32Array
    counts: Int64Array


class Contents(NamedTuple):
    """What placing reads: start int64 and size int32 by conjunction into `cells` (int32 predicate ids); op uint8, lo/hi int64
    and chance float64 (of an equality: the share of events that satisfy it) by predicate id."""

    start: Int64Array
    size: Int32Array
    cells: Int32Array
    op: NDArray[np.uint8]
    lo: Int64Array
    hi: Int64Array
    chance: NDArray[np.float64]


class Choice(NamedTuple):
    """An access predicate for each conjunction of a list: keys int32[n, WIDEST], table int32[n], chance float64[n]."""

    keys: Int32Array
    table: Int32Array
    chance: NDArray[np.float64]


@leaf
def keys_hash(keys: Int32Array) -> int:
    """A hash of an access predicate's ids (int32[WIDEST])."""
    h = 0
    for k in range(WIDEST):
        if keys[k] >= 0:
            h = mix(h, keys[k])
    return h


@leaf
def find_entry(a: Access, keys: Int32Array) -> int:
    """The entry of the access predicate with these ids (int32[WIDEST]), or -1."""
    if keys[0] < 0:
        return ALWAYS
    if keys[1] < 0:
        return int(a.single[keys[0]])
    h = keys_hash(keys)
    slot = first_slot(a.slots, h)
    while a.slots.items[slot] >= 0:
        i = a.slots.items[slot]
        if a.slots.hashes[slot] == h:
            same = True
            for k in range(WIDEST):
                same = same and a.keys[i, k] == keys[k]
            if same:
                return int(i)
        slot = (slot + 1) & (len(a.slots.items) - 1)
    return -1


@leaf
def fresh_id(stack: Int32Array, counts: Int64Array) -> int:
    """A freed number, or a new one when none is free."""
    if counts[FREE] > 0:
        counts[FREE] -= 1
        return int(stack[counts[FREE]])
    counts[MADE] += 1
    return int(counts[MADE] - 1)


@leaf
def make_entry(a: Access, keys: Int32Array, table: int, chance: float) -> int:
    """An entry for an access predicate that has none."""
    i = fresh_id(a.stack, a.counts)
    a.table[i], a.chance[i], a.rows[i], a.head[i] = table, chance, 0, -1
    for k in range(WIDEST):
        a.keys[i, k] = keys[k]
    if keys[0] >= 0:
        if keys[1] < 0:
            a.single[keys[0]] = i
        else:
            put(a.slots, keys_hash(keys), i)
    return i


@leaf
def place(a: Access, k: Clusters, c: Contents, ids: Int32Array, choice: Choice, first: int) -> int:
    """Put conjunctions ids[first:] under their access predicates, until one might not fit the arrays.

    Returns the one to go on with. Columns ascend by the chance to hold: most rows are decided by the first one read.
    """
    for i in range(first, len(ids)):
        conjunction = ids[i]
        keys = choice.keys[i]
        fixed = 0
        while fixed < WIDEST and keys[fixed] >= 0:
            fixed += 1
        width = c.size[conjunction] - fixed
        if (
            a.counts[MADE] - a.counts[FREE] >= len(a.table)
            or k.counts[MADE] - k.counts[FREE] >= len(k.start)
            or not has_room(a.slots, 1)
        ):
            return i
        entry = find_entry(a, keys)
        cluster = -1 if entry < 0 else find_cluster(a, k, entry, width)
        rows = 0 if cluster < 0 else k.size[cluster]
        if cluster < 0 or rows == k.room[cluster]:
            block = size_class((rows + 1) * (width + 1))
            if not fits(k.pool, block):
                return i
            if entry < 0:
                entry = make_entry(a, keys, choice.table[i], choice.chance[i])
            if cluster < 0:
                cluster = make_cluster(a, k, entry, width)
            enlarge(k, cluster, block)
        base, room, columns = k.start[cluster] + rows, k.room[cluster], 0
        for at in range(c.start[conjunction], c.start[conjunction] + c.size[conjunction]):
            p = c.cells[at]
            if not holds_key(keys, p):
                likely, column = likelihood(c, p), columns
                while column > 0 and likelihood(c, k.cells[base + (column - 1) * room]) > likely:
                    k.cells[base + column * room] = k.cells[base + (column - 1) * room]
                    column -= 1
                k.cells[base + column * room] = p
                columns += 1
        k.cells[base + width * room] = conjunction
        k.place[conjunction, 0], k.place[conjunction, 1] = cluster, rows
        k.size[cluster] = rows + 1
        a.rows[entry] += 1
        a.benefit[a.table[entry]] += 1.0 - a.chance[entry]
    return len(ids)


@leaf
def likelihood(c: Contents, p: int) -> float:
    """What the columns of a cluster ascend by: the chance of an equality; other predicates come after, in their own order."""
    return float(c.chance[p]) if c.op[p] == IN and c.lo[p] == c.hi[p] else 2.0


@leaf
def holds_key(keys: Int32Array, p: int) -> bool:
    """Whether p is among the ids of an access predicate."""
    found = False
    for k in range(WIDEST):
        found |= keys[k] == p
    return found


@leaf
def find_cluster(a: Access, k: Clusters, entry: int, width: int) -> int:
    """The entry's cluster of the given width, or -1."""
    cluster = a.head[entry]
    while cluster >= 0 and k.width[cluster] != width:
        cluster = k.after[cluster]
    return int(cluster)


@leaf
def make_cluster(a: Access, k: Clusters, entry: int, width: int) -> int:
    """An empty cluster, first in the entry's chain, without cells yet."""
    i = fresh_id(k.stack, k.counts)
    k.block[i], k.room[i], k.size[i], k.width[i] = 0, 0, 0, width
    k.entry[i], k.after[i] = entry, a.head[entry]
    a.head[entry] = i
    return i


@leaf
def enlarge(k: Clusters, i: int, block: int) -> None:
    """Move a cluster to a larger block (`fits` said yes)."""
    start, columns = take(k.pool, block), k.width[i] + 1
    room = (1 << block) // columns
    for column in range(columns):
        for row in range(k.size[i]):
            k.cells[start + column * room + row] = k.cells[k.start[i] + column * k.room[i] + row]
    if k.block[i] > 0:
        give(k.pool, k.start[i], k.block[i])
    k.start[i], k.block[i], k.room[i] = start, block, room


@leaf
def displace(a: Access, k: Clusters, ids: Int32Array) -> None:
    """Take conjunctions out, the last row of a cluster filling the gap; what becomes empty is freed (ALWAYS stays)."""
    for conjunction in ids:
        cluster, row = k.place[conjunction, 0], k.place[conjunction, 1]
        last, line = k.size[cluster] - 1, k.width[cluster]
        for column in range(line + 1):
            base = k.start[cluster] + column * k.room[cluster]
            k.cells[base + row] = k.cells[base + last]
        moved = k.cells[k.start[cluster] + line * k.room[cluster] + row]
        k.place[moved, 1] = row
        k.size[cluster] = last
        entry = k.entry[cluster]
        a.rows[entry] -= 1
        a.benefit[a.table[entry]] -= 1.0 - a.chance[entry]
        if last == 0:
            free_cluster(a, k, cluster)
            if a.rows[entry] == 0 and entry != ALWAYS:
                free_entry(a, entry)


@leaf
def free_cluster(a: Access, k: Clusters, i: int) -> None:
    """Unlink an empty cluster and return its block and number."""
    entry = k.entry[i]
    if a.head[entry] == i:
        a.head[entry] = k.after[i]
    else:
        before = a.head[entry]
        while k.after[before] != i:
            before = k.after[before]
        k.after[before] = k.after[i]
    give(k.pool, k.start[i], k.block[i])
    k.block[i] = 0
    k.stack[k.counts[FREE]] = i
    k.counts[FREE] += 1


@leaf
def free_entry(a: Access, i: int) -> None:
    """Forget an access predicate under which nothing is left."""
    if a.keys[i, 1] < 0:
        a.single[a.keys[i, 0]] = -1
    else:
        drop(a.slots, keys_hash(a.keys[i]), i)
    a.table[i] = -1
    a.stack[a.counts[FREE]] = i
    a.counts[FREE] += 1


@kernel
def members(a: Access, k: Clusters, entries: Int32Array) -> Int32Array:
    """The conjunctions under the entries, one after the other."""
    n = 0
    for entry in entries:
        n += a.rows[entry]
    out, n = np.empty(n, np.int32), 0
    for entry in entries:
        cluster = a.head[entry]
        while cluster >= 0:
            line = k.start[cluster] + k.width[cluster] * k.room[cluster]
            for row in range(k.size[cluster]):
                out[n] = k.cells[line + row]
                n += 1
            cluster = k.after[cluster]
    return out


@leaf
def reprice(a: Access, chance: NDArray[np.float64]) -> None:
    """Recompute every entry's chance and every table's benefit from the chances (float64) of predicates."""
    a.benefit[:] = 0.0
    for i in range(a.counts[MADE]):
        if a.table[i] >= 0:
            a.chance[i] = 1.0
            for k in range(WIDEST):
                if a.keys[i, k] >= 0:
                    a.chance[i] *= chance[a.keys[i, k]]
            a.benefit[a.table[i]] += (1.0 - a.chance[i]) * a.rows[i]
