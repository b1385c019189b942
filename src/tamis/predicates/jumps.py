"""Jump tables: where among an attribute's bounds to look for a key, so that a search reads two cache lines, not six.

Keys are laid on a line (numbers by value, strings by their number) that is cut into equal buckets, one for every two
bounds; a table says how many bounds lie before each bucket. The line need only rise with the key, so where it starts and
how fast it rises is a matter of speed, never of right or wrong; values beyond its ends fall into the first and last bucket.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel, leaf
from tamis.arrays.memory import float_of_bits
from tamis.encoding.keys import FOLD, NUMBER_MAX, NUMBER_MIN, UNKNOWN_STRING, Int64Array

Float64Array = NDArray[np.float64]
PER_BUCKET = 1
"""log2 of the bounds per bucket."""
TAIL = 64
"""One in so many bounds at either end may lie off the line: open ranges end at the largest number there is."""


class Jumps(NamedTuple):
    """origins, scales float64[s]: a key at x on the line of slot s is in bucket (x - origin) × scale; textual uint8[s]:
    strings, not numbers; before uint32: bounds before each bucket, slot s from `first_jump` on."""

    origins: Float64Array
    scales: Float64Array
    textual: NDArray[np.uint8]
    before: NDArray[np.uint32]


@leaf
def first_jump(start: int, slot: int) -> int:
    """Where a slot's part of `before` begins, given where its bounds begin."""
    return (start >> PER_BUCKET) + 2 * slot


@leaf
def position(key: int, textual: int) -> float:
    """The place of a key on its line; rises with the key."""
    if textual:
        return float(max(key, UNKNOWN_STRING - 1) - UNKNOWN_STRING)
    clipped = min(max(key, NUMBER_MIN), NUMBER_MAX)
    found: float = float_of_bits(clipped ^ ((clipped >> 63) & FOLD))
    return found


@leaf
def bucket_of(x: float, origin: float, scale: float, last: int) -> int:
    """The bucket of a place on the line, in 0..last."""
    scaled = (x - origin) * scale
    return int(min(max(scaled, 0.0), float(last)))


@leaf
def code_of(jumps: Jumps, bounds: Int64Array, start: int, stop: int, slot: int, key: int) -> int:
    """The code of a key of a slot with bounds[start:stop]: as `rank`, found from the bucket on."""
    return code_from(jumps, bounds, start, jump_of(jumps, start, stop, slot, key), key)


@leaf
def jump_of(jumps: Jumps, start: int, stop: int, slot: int, key: int) -> int:
    """Where in `before` the bucket of a key of a slot with bounds[start:stop] is."""
    last = (stop - start) >> PER_BUCKET
    b = bucket_of(position(key, jumps.textual[slot]), jumps.origins[slot], jumps.scales[slot], last)
    return first_jump(start, slot) + b


@leaf
def code_from(jumps: Jumps, bounds: Int64Array, start: int, at: int, key: int) -> int:
    """The code of a key of a slot with bounds[start:], given where in `before` its bucket is."""
    low = start + jumps.before[at]
    count = start + jumps.before[at + 1] - low
    while count > 0:
        half = count >> 1
        middle = low + half
        low = middle + 1 if bounds[middle] <= key else low
        count = count - half - 1 if bounds[middle] <= key else half
    return low - start + 1


@kernel
def jump_tables(starts: Int64Array, bounds: Int64Array) -> Jumps:
    """The tables for slots with bounds[starts[s]:starts[s+1]]; mutates nothing given."""
    slots = len(starts) - 1
    origins, scales, textual = np.zeros(slots), np.ones(slots), np.zeros(slots, np.uint8)
    before = np.zeros(first_jump(starts[slots], slots), np.uint32)
    for s in range(slots):
        start, stop = starts[s], starts[s + 1]
        count, first = stop - start, first_jump(start, s)
        if count == 0:
            continue
        textual[s] = bounds[start + (count >> 1)] >= UNKNOWN_STRING
        spare = count // TAIL + (1 if count > 2 else 0)
        low, high = position(bounds[start + spare], textual[s]), position(bounds[stop - 1 - spare], textual[s])
        span = (high - low) * count / (count - 2 * spare)  # the ends may well go on as the middle does
        scale = float((count >> PER_BUCKET) + 1) / span if span > 0.0 else 1.0
        if 0.0 < scale < np.inf:
            origins[s], scales[s] = low - (span - (high - low)) / 2.0, scale
        last = count >> PER_BUCKET
        for i in range(start, stop):
            b = bucket_of(position(bounds[i], textual[s]), origins[s], scales[s], last)
            before[first + b + 1] += np.uint32(1)
        for b in range(last + 1):
            before[first + b + 1] += before[first + b]
    return Jumps(origins, scales, textual, before)
