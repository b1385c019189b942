"""Scalars: what is one, when two are equal, how they are ordered."""

import enum
import math

import pytest

from tamis.errors import EventError
from tamis.model.values import INT64_MAX, INT64_MIN, Kind, check_scalar, kind, less, same


class Colour(str, enum.Enum):  # noqa: UP042 (a StrEnum prints its text; this one does not)
    RED = "red"


@pytest.mark.parametrize("value", [True, 0, INT64_MAX, INT64_MIN, 1.5, -1e308, "", "日本", "\0"])
def test_scalars_are_taken_as_they_are(value):
    taken = check_scalar(value, "here")
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinities_are_rejected(value):
    with pytest.raises(EventError, match=r"here: .* is not a finite number"):
        check_scalar(value, "here")


@pytest.mark.parametrize("value", [INT64_MAX + 1, INT64_MIN - 1, 10**40])
def test_integers_are_int64(value):
    with pytest.raises(EventError, match="does not fit in 64 bits"):
        check_scalar(value, "here")


@pytest.mark.parametrize("value", [None, [], {}, b"x", 1j, object()])
def test_other_things_are_no_scalars(value):
    with pytest.raises(EventError, match=r"is not a scalar \(bool, int, float or string\)"):
        check_scalar(value, "here")


def test_lone_surrogates_are_rejected():
    with pytest.raises(EventError, match="lone surrogate"):
        check_scalar("a\ud800", "here")


def test_minus_zero_is_stored_as_zero():
    assert math.copysign(1, check_scalar(-0.0, "here")) == 1  # type: ignore[arg-type]


def test_an_enumeration_member_is_its_text():
    taken = check_scalar(Colour.RED, "here")
    assert (taken, type(taken)) == ("red", str)


def test_kinds():
    assert [kind(v) for v in (True, 1, 1.0, "1")] == [Kind.BOOL, Kind.NUMBER, Kind.NUMBER, Kind.STRING]


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (-0.0, 0.0, True),
        (0, -0.0, True),
        (2**53 + 1, float(2**53), False),  # compared exactly, not after rounding
        (2**53, float(2**53), True),
        (INT64_MAX, float(2**63), False),
        (True, 1, False),
        (False, 0, False),
        (True, 1.0, False),
        (True, True, True),
        ("1", 1, False),
        ("true", True, False),
        ("a", "A", False),
        ("é", "e\u0301", False),  # code points, not glyphs
    ],
)
def test_equality(left, right, equal):
    assert same(left, right) is equal
    assert same(right, left) is equal


@pytest.mark.parametrize(
    ("left", "right", "before"),
    [
        (1, 1.5, True),
        (1.5, 1, False),
        (float(2**53), 2**53 + 1, True),
        (INT64_MAX, float(2**63), True),
        (-0.0, 0.0, False),
        ("A", "a", True),
        ("", "a", True),
        ("Z", "é", True),
        ("\uffff", "\U00010000", True),  # by code point, not by UTF-16 unit
        ("10", "9", True),
        (1, "2", False),
        ("1", 2, False),
        (False, True, False),  # booleans are not ordered
        (0, True, False),
        (False, 1, False),
    ],
)
def test_order(left, right, before):
    assert less(left, right) is before
