"""Blocks of cells inside one long array, in sizes that are powers of two; freed blocks are used again before new ones.

Rows of different and changing length (posting lists, cluster columns, sorted bounds) live in one array instead of one
object each. A pool only hands out positions: the caller owns the data arrays, all of the pool's capacity, and may keep
several in parallel. Kernels cannot enlarge an array they were given, so they ask `fits` first and stop when it says no;
their Python side enlarges and lets them go on.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf

SMALLEST = 2  # blocks have at least 2**SMALLEST cells
CLASSES = 40


class Pool(NamedTuple):
    """`top` int64[1]: cells handed out so far; `free` int64[CLASSES]: first free block of each class or -1; `link`
    int32[capacity >> SMALLEST]: the free block after this one, in units of the smallest block."""

    top: NDArray[np.int64]
    free: NDArray[np.int64]
    link: NDArray[np.int32]

    @property
    def capacity(self) -> int:
        """Cells the data arrays must have."""
        return len(self.link) << SMALLEST

    @property
    def nbytes(self) -> int:
        """Bytes of the pool's own arrays."""
        return self.top.nbytes + self.free.nbytes + self.link.nbytes


def new_pool(capacity: int = 1024) -> Pool:
    """An empty pool; `capacity` is a multiple of the smallest block."""
    return Pool(np.zeros(1, np.int64), np.full(CLASSES, -1, np.int64), np.empty(capacity >> SMALLEST, np.int32))


def enlarged(pool: Pool, extra: int = 0) -> Pool:
    """A pool of at least twice the capacity with the same blocks; the caller lengthens its data arrays alike."""
    units = max(2 * len(pool.link), (int(pool.top[0]) + extra >> SMALLEST) + 1)
    link = np.empty(units, np.int32)
    link[: len(pool.link)] = pool.link
    return Pool(pool.top, pool.free, link)


@leaf
def size_class(cells: int) -> int:
    """The class of the smallest block with at least `cells` cells."""
    c = SMALLEST
    while (1 << c) < cells:
        c += 1
    return c


@leaf
def fits(pool: Pool, c: int) -> bool:
    """Whether a block of class c can be taken without more capacity."""
    return bool(pool.free[c] >= 0 or pool.top[0] + (1 << c) <= len(pool.link) << SMALLEST)


@leaf
def cells_left(pool: Pool) -> int:
    """Cells never handed out."""
    return (len(pool.link) << SMALLEST) - int(pool.top[0])


@leaf
def take(pool: Pool, c: int) -> int:
    """The start of a block of class c (`fits` said yes); mutates the pool."""
    start = pool.free[c]
    if start >= 0:
        after = pool.link[start >> SMALLEST]
        pool.free[c] = -1 if after < 0 else np.int64(after) << SMALLEST
        return int(start)
    start = pool.top[0]
    pool.top[0] = start + (1 << c)
    return int(start)


@leaf
def give(pool: Pool, start: int, c: int) -> None:
    """Return the block of class c at `start`; mutates the pool."""
    before = pool.free[c]
    pool.link[start >> SMALLEST] = -1 if before < 0 else before >> SMALLEST
    pool.free[c] = start
