"""An event gets one answer, by itself, in a batch, and the long way through `normalise`."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Matcher
from tamis.errors import EventError
from tamis.model.event import normalise

FILTERS = [
    "a = 1", "a > 10", "a between 3 and 7 and b = 'x'", "b starts with 'x'", "b contains 'Y' nocase", "not (a = 1)",
    "missing(c)", "exists(c) and a != 5", "c = true", "b in ('x', 'yy', 'zzz')", "a = 9007199254740993", "b > 'm'",
    "a < -0.5", "a = 0 or a = 0 and b = 'x'", "d.e = 3", "a >= 9007199254740992",
]  # fmt: skip
scalars = st.one_of(
    st.integers(-5, 20), st.sampled_from([2**53, 2**53 + 1, -(2**63), 2**63 - 1, -0.0, 0.0, 1e308, -1e-300]),
    st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.sampled_from(["x", "yy", "xY", "", "é", "zzz"]),
)  # fmt: skip
values = st.one_of(scalars, st.lists(scalars, max_size=3), st.none(), st.fixed_dictionaries({"e": scalars}))
events = st.dictionaries(st.sampled_from(["a", "b", "c", "d", "d.e", "other", "ü"]), values, max_size=6)


@pytest.fixture(scope="module")
def matcher():
    made = Matcher()
    made.subscribe_many(enumerate(FILTERS))
    made.match({})
    return made


def outcome(match):
    """What a call answers, or what it refuses."""
    try:
        return sorted(match())
    except EventError as problem:
        return str(problem)


@given(events)
def test_both_ways_give_the_same_answer_or_the_same_error(matcher, event):
    wanted = outcome(lambda: matcher.match_events([normalise(event)])[0])
    assert outcome(lambda: matcher.match(event)) == wanted
    assert outcome(lambda: matcher.match_many([event])[0]) == wanted


@given(st.lists(events, max_size=5))
def test_batches_plain_or_not(matcher, several):
    def all_of(match):
        return outcome(lambda: [(i, name) for i, row in enumerate(match()) for name in row])

    assert all_of(lambda: matcher.match_many(several)) == all_of(
        lambda: matcher.match_events([normalise(event) for event in several])
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63, 10**400, "\ud800", object()])
def test_what_is_no_value_is_refused(matcher, value):
    for event in ({"a": value}, {"nobody": value}, {"a": value, "b": "x"}):
        with pytest.raises(EventError):
            matcher.match(event)


def test_many_matches_changes_and_a_delta():
    matcher = Matcher(merge="never")
    matcher.subscribe_many((i, f"a >= {i}") for i in range(3000))
    assert sorted(matcher.match({"a": 2999})) == list(range(3000)) == sorted(matcher.match({"a": 2999, "b": 1}))
    matcher.subscribe("new", "a = 1")
    for identifier in (0, 2999):
        matcher.unsubscribe(identifier)
    assert sorted(matcher.match({"a": 1}), key=str) == [1, "new"] == sorted(matcher.match({"a": 1}), key=str)
    assert matcher.stats().events == 4


def test_no_id_is_named_after_its_successor_while_others_change():
    matcher = Matcher()
    matcher.subscribe_many((f"even {i}", "kind = 0") for i in range(50))
    matcher.match({"kind": 0})
    stop = threading.Event()
    wrong: list[object] = []

    def read():
        while not stop.is_set():
            wrong.extend(name for name in matcher.match({"kind": 0}) if not str(name).startswith("even"))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(300):
        matcher.unsubscribe(f"even {i}")
        matcher.subscribe(f"odd {i}", "kind = 1")
        matcher.subscribe(f"even {50 + i}", "kind = 0")
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
