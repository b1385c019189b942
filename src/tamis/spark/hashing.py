"""A hash of whole columns of integers that is the same on every machine, run and version of Python."""

import numpy as np

from tamis.encoding.keys import Int64Array

UInt64 = np.uint64


def mixed(attrs: Int64Array, keys: Int64Array) -> Int64Array:
    """Non-negative hashes of (attribute, key) pairs, the same on every machine."""
    x = attrs.astype(UInt64) * UInt64(0x9E3779B97F4A7C15) ^ keys.astype(np.int64).view(UInt64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> UInt64(shift))) * UInt64(factor)
    return ((x ^ (x >> UInt64(31))) >> UInt64(1)).view(np.int64)
