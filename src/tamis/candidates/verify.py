"""Verification: whether a conjunction holds for an event, predicate by predicate, for every predicate code there is.

An event is *scattered* before its candidates are checked: `begin[a]:end[a]` is the slice of the batch's keys that holds
the values of attribute a (empty when absent), so a predicate costs two loads. Attributes the caller's arrays do not reach
are ones none of its conjunctions names.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel, leaf
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.predicates.holds import predicate_holds


@leaf
def scatter(attrs: Int32Array, first: int, last: int, begin: Int32Array, end: Int32Array) -> None:
    """Write the slices of the event's pairs first:last into begin/end (int32[attributes], all empty before)."""
    for i in range(first, last):
        a = attrs[i]
        if a < len(begin):
            if end[a] == 0:
                begin[a] = i
            end[a] = i + 1


@leaf
def gather(attrs: Int32Array, first: int, last: int, begin: Int32Array, end: Int32Array) -> None:
    """Undo `scatter`: begin/end are all empty again, at the cost of what was written."""
    for i in range(first, last):
        a = attrs[i]
        if a < len(begin):
            begin[a] = 0
            end[a] = 0


@leaf
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


@kernel
def verify_pairs(
    events: Int64Array,
    rows: Int64Array,
    offsets: Int64Array,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    sets: Int64Array,
    event_offsets: Int64Array,
    event_attrs: Int32Array,
    event_keys: Int64Array,
    attributes: int,
) -> NDArray[np.bool_]:
    """For candidate pairs (event index, conjunction), ascending by event, whether each holds: bool[pairs]; mutates nothing."""
    begin, end = np.zeros(attributes, np.int32), np.zeros(attributes, np.int32)
    outcome = np.zeros(len(events), np.bool_)
    current = -1
    for i in range(len(events)):
        if events[i] != current:
            if current >= 0:
                gather(event_attrs, event_offsets[current], event_offsets[current + 1], begin, end)
            current = events[i]
            scatter(event_attrs, event_offsets[current], event_offsets[current + 1], begin, end)
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        outcome[i] = conjunction_holds(first, last, attrs, ops, lo, hi, sets, event_keys, begin, end)
    return outcome
