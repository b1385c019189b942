"""`cover` against the meaning of predicates: whatever holds touches the interval."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.encoding.subscriptions import IN, MISSING
from tamis.predicates.cover import cover
from tamis.predicates.holds import predicate_holds

keys = st.integers(-5, 5)
intervals = st.tuples(st.sampled_from([0, 1, 2, 3]), keys, keys)
sets = st.tuples(st.sampled_from([5, 6, 7, 8]), st.lists(keys, min_size=2, max_size=4, unique=True).map(sorted))


@settings(max_examples=400)
@given(st.lists(st.one_of(intervals, sets), min_size=1, max_size=3), st.lists(keys, min_size=1, max_size=4))
def test_whatever_holds_touches_the_cover(predicates, values):
    pool: list[int] = []
    rows = []
    for op, *rest in predicates:
        if op > MISSING:
            rows.append((op, len(pool), len(pool) + len(rest[0])))
            pool += rest[0]
        else:
            rows.append((op, *rest))
    ops, lo, hi = np.array([r[0] for r in rows], np.uint8), *(np.array([r[i] for r in rows], np.int64) for i in (1, 2))
    attrs, everything = np.full(len(rows), 3, np.int32), np.array(pool, np.int64)
    low, high = cover(3, 0, len(rows), attrs, ops, lo, hi, everything)
    batch = np.array(values, np.int64)
    if all(predicate_holds(*row, everything, batch, 0, len(batch)) for row in rows):
        assert min(values) <= high
        assert max(values) >= low


def test_one_range_from_two_bounds():
    attrs, ops = np.array([0, 0, 1], np.int32), np.array([IN, IN, IN], np.uint8)
    lo, hi = np.array([10, 0, 7], np.int64), np.array([99, 20, 8], np.int64)
    assert cover(0, 0, 3, attrs, ops, lo, hi, np.empty(0, np.int64)) == (10, 20)
    assert cover(1, 0, 3, attrs, ops, lo, hi, np.empty(0, np.int64)) == (7, 8)
