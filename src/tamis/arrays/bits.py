"""Vectors of bits in 64-bit words."""

from typing import Any

import numpy as np
from numba.cpython.unsafe import numbers
from numpy.typing import NDArray

from tamis.arrays.jit import leaf

count_trailing_zeros: Any = numbers.trailing_zeros

WORD = 64


@leaf
def has_bit(bits: NDArray[np.uint64], i: int) -> bool:
    """Whether bit i is set."""
    return bool((bits[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) != 0)


@leaf
def lowest_bit(word: np.uint64) -> int:
    """The position of the lowest set bit of a word that has one."""
    return int(np.int64(count_trailing_zeros(word)))
