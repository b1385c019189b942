"""Sorting in place, without allocating: for kernels that may not."""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf


@leaf
def sift(values: NDArray[np.int32], first: int, root: int, count: int) -> None:
    """Let values[first + root] sink in the heap values[first:first + count]."""
    moving = values[first + root]
    while 2 * root + 1 < count:
        child = 2 * root + 1
        if child + 1 < count and values[first + child] < values[first + child + 1]:
            child += 1
        if values[first + child] <= moving:
            break
        values[first + root] = values[first + child]
        root = child
    values[first + root] = moving


@leaf
def sort_slice(values: NDArray[np.int32], first: int, last: int) -> None:
    """Sort values[first:last] ascending (heapsort)."""
    count = last - first
    for back in range(count // 2):
        sift(values, first, count // 2 - 1 - back, count)
    for back in range(count - 1):
        end = count - 1 - back
        values[first], values[first + end] = values[first + end], values[first]
        sift(values, first, 0, end)
