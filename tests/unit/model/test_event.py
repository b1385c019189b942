"""Events: flattening, lists, absence, and what is refused."""

from collections import OrderedDict, UserDict
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError
from tamis.model.event import normalise
from tamis.model.limits import Limits
from tamis.model.schema import Attribute, IntDomain, PlainDomain, PublicationType


@pytest.mark.parametrize(
    ("raw", "event"),
    [
        ({}, {}),
        ({"a": 1}, {"a": (1,)}),
        ({"a": [1, "x", True]}, {"a": (1, "x", True)}),
        ({"a": (1, 2)}, {"a": (1, 2)}),
        ({"a": {"b": {"c": 1}, "d": 2}}, {"a.b.c": (1,), "a.d": (2,)}),
        ({"a": [{"b": 1}, {"b": 2, "c": 3}]}, {"a.b": (1, 2), "a.c": (3,)}),
        ({"a": [[1, 2], [3]]}, {"a": (1, 2, 3)}),
        ({"a.b": 1}, {"a.b": (1,)}),
        ({"a": None, "b": [None, 1, None], "c": [], "d": {}, "e": [None]}, {"b": (1,)}),
        ({"a.b": None, "a": {"b": 1}}, {"a.b": (1,)}),
        (UserDict({"a": 1}), {"a": (1,)}),
        (MappingProxyType({"a": {"b": 1}}), {"a.b": (1,)}),
        (OrderedDict(a=1), {"a": (1,)}),
    ],
)
def test_events_flatten_to_dotted_names_and_tuples(raw, event):
    assert normalise(raw) == event


def test_attributes_keep_their_order():
    assert list(normalise({"z": 1, "a": {"y": 1, "b": 2}, "m": 3})) == ["z", "a.y", "a.b", "m"]


def test_numbers_keep_their_type_and_minus_zero_becomes_zero():
    assert str(normalise({"a": [1, 1.0, -0.0]})["a"]) == "(1, 1.0, 0.0)"


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ([1], "an event is an object of attributes, not list"),
        ("a", "an event is an object of attributes, not str"),
        (None, "an event is an object of attributes, not NoneType"),
        ({"a": float("nan")}, "attribute 'a': nan is not a finite number"),
        ({"a": [1, float("inf")]}, "attribute 'a': inf is not a finite number"),
        ({"a": 2**63}, "attribute 'a': the integer 9223372036854775808 does not fit"),
        ({"a": b"x"}, "attribute 'a': bytes is not a scalar"),
        ({1: 2}, "attribute names are non-empty strings, not 1"),
        ({"": 2}, "attribute names are non-empty strings, not ''"),
        ({"a": {"": 2}}, "attribute names are non-empty strings"),
        ({"a\udc00": 1}, "an attribute name: the string has a lone surrogate"),
        ({"a.b": 1, "a": {"b": 2}}, "attribute 'a.b' is given twice, flat and nested"),
    ],
)
def test_malformed_events_are_refused(raw, complaint):
    with pytest.raises(EventError) as caught:
        normalise(raw)
    assert complaint in str(caught.value)


def test_limits_are_named():
    deep: object = 1
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(EventError, match="event_depth = 32"):
        normalise(deep)
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(EventError, match="event_depth"):
        normalise({"a": loop})
    with pytest.raises(EventError, match=r"event_values = 4,096"):
        normalise({"a": [1] * 5000})
    with pytest.raises(EventError, match="event_attributes = 2"):
        normalise({"a": 1, "b": 2, "c": 3}, limits=Limits(event_attributes=2))


TYPE = PublicationType(
    [
        Attribute("n", IntDomain(0, 9)),
        Attribute("tags", PlainDomain("string"), many=True),
        Attribute("at", PlainDomain("timestamp")),
    ]
)


def test_a_type_admits_its_events_which_need_not_set_every_attribute():
    assert normalise({"n": 5.0, "at": "1970-01-01T00:00:01"}, TYPE) == {"n": (5,), "at": (1_000_000,)}
    assert normalise({"tags": ["x", "y"]}, TYPE) == {"tags": ("x", "y")}
    assert normalise({"n": [5]}, TYPE) == {"n": (5,)}
    assert normalise({}, TYPE) == {}
    assert normalise({"unknown": None}, TYPE) == {}


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ({"n": 10}, "attribute 'n': 10 is outside its domain int[0..9]"),
        ({"n": "5"}, "attribute 'n': '5' is outside its domain int[0..9]"),
        ({"n": [1, 2]}, "attribute 'n' takes one value, not a list"),
        ({"tags": ["x", 1]}, "attribute 'tags': 1 is outside its domain string"),
        ({"tag": "x"}, "has no attribute 'tag'; did you mean 'tags'?"),
        ({"n": {"m": 1}}, "has no attribute 'n.m'"),
    ],
)
def test_a_type_refuses_other_events(raw, complaint):
    with pytest.raises(EventError) as caught:
        normalise(raw, TYPE)
    assert complaint in str(caught.value)


NAMES = st.sampled_from(["a", "b", "c.d", "é", ""])
SCALARS = st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats() | st.sampled_from(["x", "é", "\ud800"])
OBJECTS = st.recursive(
    st.dictionaries(NAMES, SCALARS, max_size=3),
    lambda inner: st.dictionaries(NAMES, inner | SCALARS | st.lists(SCALARS, max_size=2), max_size=3),
    max_leaves=6,
)


@given(OBJECTS, st.integers(1, 5), st.integers(1, 4))
def test_the_short_way_gives_what_the_long_way_gives(raw: dict[str, object], depth: int, size: int) -> None:
    """A dotted name sends an event the long way."""
    limits, wider = (Limits(event_depth=depth, event_attributes=size + n, event_values=size + n) for n in (0, 1))
    try:
        long: object = {k: v for k, v in normalise({**raw, "z.z": 1}, None, wider).items() if k != "z.z"}
    except EventError as problem:
        long = type(problem)
    try:
        short: object = normalise(raw, None, limits)
    except EventError as problem:
        short = type(problem)
    assert repr(short) == repr(long)
