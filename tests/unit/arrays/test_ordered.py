"""Ordered integers and cells."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.arrays.ordered import cell, float_of
from tamis.encoding.keys import number_key

numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(numbers)
def test_float_of_undoes_keys(x):
    assert float_of(number_key(x)) == x


@given(numbers, numbers, st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_cells_never_decrease_and_stay_inside(x, y, base, scale):
    first, second = (cell(v, base, scale, 64) for v in sorted((x, y)))
    assert 0 <= first <= second < 64


def test_cells_are_linear():
    assert [cell(float(x), 10.0, 0.5, 8) for x in (9, 10, 11, 12, 13, 25, 26, np.inf)] == [0, 0, 0, 1, 1, 7, 7, 7]
