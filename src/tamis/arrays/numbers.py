"""Numbers for nodes, buckets and items that come and go: what was given back is handed out again before anything new.

The caller keeps three cells of an int64 array `top`, from `at` on (how many numbers were ever made, the first free one or -1,
how many are in use), and lends an array in which the free ones are chained: a column that means something else in use.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf

FREE, LIVE = 1, 2


@leaf
def take_number(top: NDArray[np.int64], at: int, chain: NDArray[np.int32]) -> int:
    """A number nobody has; there is room for it. Mutates `top`."""
    number = int(top[at + FREE])
    if number >= 0:
        top[at + FREE] = chain[number]
    else:
        number = int(top[at])
        top[at] += 1
    top[at + LIVE] += 1
    return number


@leaf
def give_number(top: NDArray[np.int64], at: int, chain: NDArray[np.int32], number: int) -> None:
    """Take a number back. Mutates `top` and `chain`."""
    chain[number] = top[at + FREE]
    top[at + FREE] = number
    top[at + LIVE] -= 1
