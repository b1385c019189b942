from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.encoding.keys import (
    FALSE,
    NUMBER_MAX,
    NUMBER_MIN,
    TRUE,
    UNKNOWN_STRING,
    coarse,
    number_key,
    number_keys,
    numbers,
)

exact_integers = st.integers(-(2**53) + 1, 2**53 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)


@given(st.one_of(exact_integers, floats), st.one_of(exact_integers, floats))
def test_keys_order_as_numbers_do(left, right):
    mine, theirs = Fraction(left), Fraction(right)
    assert (number_key(left) < number_key(right), number_key(left) == number_key(right)) == (
        mine < theirs,
        mine == theirs,
    )


@given(st.integers(-(2**63), 2**63 - 1), exact_integers)
def test_huge_values_keep_their_order_against_exact_keys(value, constant):
    assert (number_key(value) < number_key(constant)) == (value < constant)


@given(floats)
def test_keys_invert(value):
    assert numbers(number_keys(np.array([value])))[0] == value


def test_kinds_lie_apart():
    assert number_key(-1.7976931348623157e308) == NUMBER_MIN
    assert number_key(1.7976931348623157e308) == NUMBER_MAX
    assert FALSE < TRUE < NUMBER_MIN < NUMBER_MAX < UNKNOWN_STRING
    assert number_key(-0.0) == number_key(0)


def test_coarse_starts_where_floats_lose_integers():
    assert not coarse(2**53 - 1)
    assert coarse(2**53)
    assert coarse(-(2.0**53))
    assert not coarse("9" * 30)
    assert not coarse(True)


@given(st.one_of(st.integers(-(2**63), 2**63 - 1), floats))
def test_one_number_has_the_key_it_has_in_an_array(value):
    assert number_key(value) == number_keys(np.array([value]))[0]
