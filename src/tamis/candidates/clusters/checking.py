"""Which conjunctions of a cluster hold, given the predicate bit vector (Fabret et al., section 2.2.1).

Two ways. `check` reads cluster after cluster, a row's columns one after the other, as long as they hold. `sieve` and `sift` never
wait for memory: first column 0 of every cluster, the rows that survive set aside and their further columns asked for, then
those columns.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.bits import has_bit
from tamis.arrays.jit import leaf
from tamis.arrays.prefetch import CACHE_LINE, prefetch
from tamis.candidates.clusters.placing import Access, Clusters
from tamis.encoding.keys import Int32Array, Int64Array

UNFOLD = CACHE_LINE // 4  # entries of a column in a cache line
LOOKAHEAD = 4 * UNFOLD  # rows of a cluster that are asked for before it is read; the processor sees what comes after
SIEVED = 1024  # rows that are sieved without a look at how many have survived


@leaf
def check(
    cells: Int32Array,
    start: int,
    room: int,
    size: int,
    width: int,
    bits: NDArray[np.uint64],
    found: Int32Array,
    n: int,
) -> int:
    """Append to found[n:] the conjunctions of a cluster whose predicates are all set in `bits`; returns the new n.

    A column is read only for rows that survived the columns before.
    """
    line = start + width * room
    if width == 0:
        for row in range(size):
            found[n + row] = cells[line + row]
        return n + size
    if width == 1:
        for r in range(size):
            if has_bit(bits, cells[start + r]):
                found[n] = cells[line + r]
                n += 1
    elif width == 2:
        for r in range(size):
            if has_bit(bits, cells[start + r]) and has_bit(bits, cells[start + room + r]):
                found[n] = cells[line + r]
                n += 1
    elif width == 3:
        for r in range(size):
            if (
                has_bit(bits, cells[start + r])
                and has_bit(bits, cells[start + room + r])
                and has_bit(bits, cells[start + 2 * room + r])
            ):
                found[n] = cells[line + r]
                n += 1
    else:
        for r in range(size):
            column = 0
            while column < width and has_bit(bits, cells[start + column * room + r]):
                column += 1
            if column == width:
                found[n] = cells[line + r]
                n += 1
    return n


@leaf
def check_entry(a: Access, k: Clusters, entry: int, bits: NDArray[np.uint64], found: Int32Array, n: int) -> int:
    """`check` for every cluster of an entry."""
    cluster = a.head[entry]
    while cluster >= 0:
        start, room, size, width = k.start[cluster], k.room[cluster], k.size[cluster], k.width[cluster]
        n = check(k.cells, start, room, size, width, bits, found, n)
        cluster = k.after[cluster]
    return n


@leaf
def sieve(
    k: Clusters, cluster: int, first: int, last: int, bits: NDArray[np.uint64], at: Int64Array, of: Int32Array, n: int
) -> int:
    """Append to at[n:] the cells of rows first:last of column 0 whose predicate is set in `bits`, and to of[n:] the cluster;
    ask for what column 1 has for them (section 2.2.1). There must be room for all rows; returns the new n.

    Written without a branch: whether a row survives is not to be guessed.
    """
    before, start, room = n, k.start[cluster], k.room[cluster]
    for cell in range(start + first, start + last):
        p = k.cells[cell]
        at[n] = cell
        n += int(bits[p >> 6] >> np.uint64(p & 63) & np.uint64(1))
    for i in range(before, n):
        of[i] = cluster
        prefetch(k.cells, at[i] + room)
    return n


@leaf
def sift(
    k: Clusters, bits: NDArray[np.uint64], at: Int64Array, of: Int32Array, n: int, found: Int32Array, f: int
) -> int:
    """Test the other columns for the n rows that `sieve` let through; appends to found[f:] and returns the new f."""
    for i in range(n):
        room, left = k.room[of[i]], k.width[of[i]] - 1
        cell = at[i] + room
        while left > 0 and has_bit(bits, k.cells[cell]):
            cell += room
            left -= 1
        if left == 0:
            found[f] = k.cells[cell]
            f += 1
    return f


@leaf
def sieve_entry(
    a: Access,
    k: Clusters,
    entry: int,
    bits: NDArray[np.uint64],
    at: Int64Array,
    of: Int32Array,
    n: int,
    found: Int32Array,
    f: int,
) -> tuple[int, int]:
    """`sieve` for every cluster of an entry, and `sift` whenever at and of (len: 2 * SIEVED or more) fill up; returns (n, f)."""
    cluster = a.head[entry]
    while cluster >= 0:
        size = k.size[cluster]
        if k.width[cluster] == 0:
            for row in range(size):
                found[f + row] = k.cells[k.start[cluster] + row]
            f += size
        else:
            for first in range(0, size, SIEVED):
                if n > len(at) - SIEVED:
                    f, n = sift(k, bits, at, of, n, found, f), 0
                n = sieve(k, cluster, first, min(size, first + SIEVED), bits, at, of, n)
        cluster = k.after[cluster]
    return n, f
