import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.encoding.keys import KEY_MAX, KEY_MIN, NUMBER_MAX, NUMBER_MIN
from tamis.encoding.subscriptions import IN, OUT
from tamis.predicates.rows import (
    BETWEEN,
    EQUAL,
    LOWER,
    OTHER,
    UPPER,
    SortedRows,
    first_at_least,
    first_at_least_linear,
    kind_of,
)

entries = st.lists(st.tuples(st.integers(0, 4), st.integers(-20, 20)), max_size=40)


@settings(max_examples=60)
@given(st.lists(st.tuples(entries, st.integers(1, 7)), max_size=5))
def test_rows_stay_sorted_through_merges_and_removals(script):
    rows, number = SortedRows(), 0
    twin: dict[int, list[tuple[int, int]]] = {row: [] for row in range(6)}
    rows.reach(1)
    refs = np.zeros(1000, np.int32)
    for batch, modulus in script:
        where = np.array([row for row, _ in batch], np.int64)
        bounds = np.array([bound for _, bound in batch], np.int64)
        ids = np.arange(number, number + len(batch), dtype=np.int32)
        number += len(batch)
        refs[ids] = 1
        rows.insert(where, bounds, ids)
        for row, bound, i in zip(where, bounds, ids, strict=True):
            twin[int(row)].append((int(bound), int(i)))
        gone = np.array([i for i in ids if i % modulus == 0], np.int64)
        refs[gone] = 0
        rows.remove(np.arange(6), refs)
        r = rows.rows
        for row in twin:
            twin[row] = [(bound, i) for bound, i in twin[row] if refs[i]]
            part = slice(r.start[row], r.start[row] + r.size[row])
            found = list(zip(r.bounds[part].tolist(), r.ids[part].tolist(), strict=True))
            assert [bound for bound, _ in found] == sorted(bound for bound, _ in found)
            assert sorted(found) == sorted(twin[row])


@given(st.lists(st.integers(-10, 10)).map(sorted), st.integers(-11, 11))
def test_both_searches_agree(values, key):
    bounds = np.array(values, np.int64)
    expected = sum(value < key for value in values)
    assert first_at_least(bounds, 0, len(bounds), key) == expected
    assert first_at_least_linear(bounds, 0, len(bounds), key) == expected


def test_kinds():
    assert kind_of(IN, 5, 5) == EQUAL
    assert kind_of(IN, NUMBER_MIN, 5) == UPPER
    assert kind_of(IN, 5, NUMBER_MAX) == LOWER
    assert kind_of(IN, 4, 5) == BETWEEN
    assert kind_of(IN, KEY_MIN, KEY_MAX) == BETWEEN
    assert kind_of(IN, 5, 4) == OTHER
    assert kind_of(OUT, 5, 5) == OTHER
