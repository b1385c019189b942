"""Growable output buffers for kernels."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel

T = TypeVar("T", bound=np.generic)


@kernel
def grown(buffer: NDArray[T], needed: int) -> NDArray[T]:
    """`buffer` itself if it holds `needed` items, else a copy at least twice as long."""
    if needed <= len(buffer):
        return buffer
    larger = np.empty(max(needed, 2 * len(buffer)), buffer.dtype)
    larger[: len(buffer)] = buffer
    return larger


def extended(array: NDArray[T], length: int, fill: int) -> NDArray[T]:
    """`array` itself if it has `length` items, else a copy at least twice as long, filled up with `fill`."""
    if length <= len(array):
        return array
    longer = np.full(max(length, 2 * len(array)), fill, array.dtype)
    longer[: len(array)] = array
    return longer
