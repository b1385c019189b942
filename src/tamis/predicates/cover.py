"""The interval of keys an event must touch for a conjunction's predicates on one attribute to hold.

With several values of the attribute, "touch" means that the span from the smallest to the largest overlaps the interval:
`a > 10 and a < 20` needs a value above 10 and one below 20, not one value between. Indexes by interval rely on this; what
they find is verified.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.encoding.keys import KEY_MAX, KEY_MIN, Int32Array, Int64Array
from tamis.encoding.subscriptions import ALL, ALL_SET, FIRST_SET, IN, IN_SET


@leaf
def cover(
    attr: int,
    first: int,
    last: int,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    sets: Int64Array,
) -> tuple[int, int]:
    """(lo, hi) over predicates first:last on `attr`, at least one; all keys when they only rule values out. Reads only."""
    low, high = KEY_MIN, KEY_MAX
    for p in range(first, last):
        op = ops[p]
        if attrs[p] != attr or not (op == IN or op == ALL or op == IN_SET or op == ALL_SET):
            continue
        bottom, top = (sets[lo[p]], sets[hi[p] - 1]) if op >= FIRST_SET else (lo[p], hi[p])
        if max(bottom, low) > min(top, high):
            return bottom, top  # no one value can do; several may, and then any one predicate says what they touch
        low, high = max(bottom, low), min(top, high)
    return low, high
