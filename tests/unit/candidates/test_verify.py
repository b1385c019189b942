"""The verification kernel against its naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.candidates.verify import gather, scatter
from tamis.encoding.subscriptions import ALL_SET, FIRST_SET, IN, MISSING, NONE, OUT

small = st.integers(0, 9)


def naive(code, lo, hi, members, values):
    """Each code as `encoding/subscriptions.py` states it."""
    if not values:
        return code == MISSING
    inside = [v in members if code >= FIRST_SET else lo <= v <= hi for v in values]
    return {IN: any(inside), OUT: not all(inside), NONE: not any(inside), MISSING: False}.get(
        code - 5 if code >= FIRST_SET else code, all(inside)
    )


@given(st.integers(0, ALL_SET), small, small, st.sets(small, min_size=1), st.lists(small, max_size=4))
def test_predicate_holds(code, lo, hi, members, values):
    from tamis.predicates.holds import predicate_holds

    sets = np.array(sorted(members), np.int64)
    first, last = (0, len(sets)) if code >= FIRST_SET else (lo, hi)
    keys = np.array([99, *values, 99], np.int64)
    assert predicate_holds(code, first, last, sets, keys, 1, 1 + len(values)) == naive(code, lo, hi, members, values)


@given(st.lists(st.integers(0, 12), max_size=8))
def test_scatter_and_gather(attributes):
    attrs = np.array([5, *sorted(attributes)], np.int32)
    begin, end = np.zeros(10, np.int32), np.zeros(10, np.int32)
    scatter(attrs, 1, len(attrs), begin, end)
    for a in range(10):
        assert attrs[begin[a] : end[a]].tolist() == [a] * attributes.count(a)
    gather(attrs, 1, len(attrs), begin, end)
    assert not begin.any()
    assert not end.any()
