"""Multiplicative hashing of 64-bit integers."""

import numpy as np

from tamis.arrays.jit import leaf

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SECOND = np.uint64(0xC2B2AE3D27D4EB4F)


@leaf
def bucket(value: int, bits: int) -> int:
    """A bucket in [0, 2^bits) for an integer; 0 < bits < 64."""
    mixed = np.uint64(value) * GOLDEN
    mixed ^= mixed >> np.uint64(32)
    return np.int64((mixed * SECOND) >> np.uint64(64 - bits))  # type: ignore[return-value]


@leaf
def pair_hash(one: int, other: int) -> np.uint64:
    """A hash of an unordered pair of integers; its upper bits are the best."""
    mixed = (np.uint64(one) * GOLDEN) ^ (np.uint64(other) * GOLDEN)
    mixed ^= mixed >> np.uint64(29)
    return mixed * SECOND


@leaf
def pair_bucket(one: int, other: int, bits: int) -> int:
    """A bucket for an unordered pair of integers; 0 < bits < 64."""
    return np.int64(pair_hash(one, other) >> np.uint64(64 - bits))  # type: ignore[return-value]


@leaf
def scattered(value: int) -> np.uint64:
    """A value's bits spread over all 64, so that the exclusive or of several is a hash of their set."""
    mixed = np.uint64(value) * GOLDEN
    mixed ^= mixed >> np.uint64(32)
    mixed *= SECOND
    return mixed ^ mixed >> np.uint64(29)
