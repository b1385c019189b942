"""Hashing, grouping, sorting, handles and hints against what NumPy says."""

import numpy as np

from tamis.arrays.csr import grouped
from tamis.arrays.handle import handle_of, view_int32, view_uint8
from tamis.arrays.hashing import bucket, pair_bucket
from tamis.arrays.jit import kernel
from tamis.arrays.memory import prefetch, publish
from tamis.arrays.sorting import sort_slice


def test_grouped_equals_a_stable_argsort():
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 7, 200).astype(np.int32)
    starts, items = grouped(groups, 9)
    assert items.tolist() == np.argsort(groups, kind="stable").tolist()
    assert starts.tolist() == np.searchsorted(np.sort(groups), np.arange(10)).tolist()


def test_buckets_are_in_range_spread_and_blind_to_order():
    values = np.arange(-500, 500) * 2**42
    assert {bucket(int(v), 4) for v in values} == set(range(16))
    assert all(pair_bucket(a, b, 8) == pair_bucket(b, a, 8) for a, b in ((1, 2), (5, 900), (7, 7)))
    assert len({pair_bucket(a, b, 16) for a in range(30) for b in range(a)}) > 400


def test_sort_slice_equals_sort_and_touches_nothing_else():
    rng = np.random.default_rng(4)
    for count in (0, 1, 2, 3, 10, 257):
        values = rng.integers(-50, 50, count + 4).astype(np.int32)
        wanted = np.concatenate([values[:2], np.sort(values[2 : count + 2]), values[count + 2 :]])
        sort_slice(values, 2, count + 2)
        assert values.tolist() == wanted.tolist()


@kernel
def through_handle(handle):
    publish()
    small, large = view_uint8(handle, 0), view_int32(handle, 1)
    prefetch(large, 0)
    large[0] += small[len(small) - 1]
    return len(small), len(large)


def test_a_handle_gives_the_arrays_themselves():
    small, large = np.array([3, 4], np.uint8), np.array([10, 20, 30], np.int32)
    assert through_handle(handle_of([small, large])) == (2, 3)
    assert large.tolist() == [14, 20, 30]
