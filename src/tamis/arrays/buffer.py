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
