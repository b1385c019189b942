"""What a table predicate means for an event's values: the kernel that decides one predicate, for every code there is."""

from tamis.arrays.jit import leaf
from tamis.encoding.keys import Int64Array
from tamis.encoding.subscriptions import FIRST_SET, IN, IN_SET, MISSING, NONE, NONE_SET, OUT, OUT_SET


@leaf
def in_slice(sets: Int64Array, lo: int, hi: int, key: int) -> bool:
    """Whether `key` is among the ascending sets[lo:hi]."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if sets[middle] < key:
            lo = middle + 1
        elif sets[middle] > key:
            hi = middle
        else:
            return True
    return False


@leaf
def predicate_holds(op: int, lo: int, hi: int, sets: Int64Array, keys: Int64Array, begin: int, end: int) -> bool:
    """Whether one predicate holds for the attribute values keys[begin:end] (codes: `encoding/subscriptions.py`)."""
    if begin == end:
        return op == MISSING
    if op == MISSING:
        return False
    inside = 0
    for i in range(begin, end):
        key = keys[i]
        if in_slice(sets, lo, hi, key) if op >= FIRST_SET else lo <= key <= hi:
            inside += 1
    if op == IN or op == IN_SET:
        return inside > 0
    if op == OUT or op == OUT_SET:
        return inside < end - begin
    if op == NONE or op == NONE_SET:
        return inside == 0
    return inside == end - begin
