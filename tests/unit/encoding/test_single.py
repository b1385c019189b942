"""One event the short way means what it means the long way, or is left to the long way."""

import pytest

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import FALSE, UNKNOWN_STRING
from tamis.encoding.single import single_pairs


@pytest.fixture
def names():
    made = Dictionary()
    for name in ("a", "b", "c", "é"):
        made.attribute(name)
    made.intern("known")
    made.intern("é")
    return made


def pairs(event, names):
    return single_pairs(event, names, lambda attribute, value: [])


def test_numbers_come_first_and_nobodys_attributes_are_left_out(names):
    found = pairs({"b": "known", "a": 1, "nobody": 5, "c": False, "é": 2.5}, names)
    assert found == ([1, 2.5], [UNKNOWN_STRING + 1, FALSE], [0, 3, 1, 2])


def test_unknown_strings_share_a_key_and_known_ones_need_not_be_ascii(names):
    assert pairs({"a": "whatever"}, names)[1] == [UNKNOWN_STRING]
    assert pairs({"a": "é"}, names)[1] == [UNKNOWN_STRING + 2]


@pytest.mark.parametrize(
    "event",
    [
        {"a": None}, {"a": [1]}, {"a": {"b": 1}}, {"a": "ü"}, {"nobody": "ü"}, {"nobody": 2**70}, {"nobody": float("nan")},
        {"nobody": float("inf")}, {"": 1}, {1: 1}, {"ö": 1}, {"nobody": None}, {"nobody": [1]}, {"a": object()},
    ],
)  # fmt: skip
def test_what_wants_a_second_look(event, names):
    assert pairs(event, names) is None


def test_derived_pairs_are_asked_for_where_there_are_any(names):
    names.by_base[0] = [9]
    found = single_pairs({"a": "text", "b": "text"}, names, lambda attribute, value: [(9, 77)])
    assert found == ([], [UNKNOWN_STRING, 77, UNKNOWN_STRING], [0, 9, 1])
