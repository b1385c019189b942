"""Compressed sparse rows: grouping items by a small integer."""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel, leaf


@kernel
def grouped(groups: NDArray[np.int32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Items 0..n-1 by group, in order within each: group g holds items[starts[g]:starts[g+1]].

    groups int32[n] in [0, count); returns starts int64[count+1], items int32[n]; mutates nothing given.
    """
    starts = np.zeros(count + 1, np.int64)
    for g in groups:
        starts[g + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    at = starts[:-1].copy()
    items = np.empty(len(groups), np.int32)
    for i in range(len(groups)):
        items[at[groups[i]]] = i
        at[groups[i]] += 1
    return starts, items


@leaf
def tally(groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add to counts[g] how often g is among the groups."""
    for g in groups:
        counts[g] += 1
