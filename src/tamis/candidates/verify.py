"""Verification: whether a conjunction holds for an event, predicate by predicate, for every predicate code there is.

An event is *scattered* before its candidates are checked: `begin[a]:end[a]` is the slice of the batch's keys that holds
the values of attribute a (empty when absent), so a predicate costs two loads. Attributes the caller's arrays do not reach
are ones none of its conjunctions names.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import FIRST_SET, IN, IN_SET, MISSING, NONE, NONE_SET, OUT, OUT_SET


@kernel
def scatter(attrs: Int32Array, first: int, last: int, begin: Int32Array, end: Int32Array) -> None:
    """Write the slices of the event's pairs first:last into begin/end (int32[attributes], all empty before)."""
    for i in range(first, last):
        a = attrs[i]
        if a < len(begin):
            if end[a] == 0:
                begin[a] = i
            end[a] = i + 1


@kernel
def gather(attrs: Int32Array, first: int, last: int, begin: Int32Array, end: Int32Array) -> None:
    """Undo `scatter`: begin/end are all empty again, at the cost of what was written."""
    for i in range(first, last):
        a = attrs[i]
        if a < len(begin):
            begin[a] = 0
            end[a] = 0


@kernel
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


@kernel
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


@kernel
def conjunction_holds(
    first: int,
    last: int,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    sets: Int64Array,
    keys: Int64Array,
    begin: Int32Array,
    end: Int32Array,
) -> bool:
    """Whether predicates first:last all hold for the scattered event; reads only."""
    for p in range(first, last):
        a = attrs[p]
        if not predicate_holds(ops[p], lo[p], hi[p], sets, keys, begin[a], end[a]):
            return False
    return True
