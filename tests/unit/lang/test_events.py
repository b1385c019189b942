import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import EventError, TamisError
from tamis.lang.events import read_event, read_strictly
from tamis.model.event import normalise


def test_an_object_is_read():
    assert read_event('{"a": [1, 2.5, null], "b": {"c": true}}') == {"a": [1, 2.5, None], "b": {"c": True}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ('{"a": NaN}', "NaN is not a finite number"),
        ('{"a": -Infinity}', "-Infinity is not"),
        ('{"a": 1,}', "not JSON: .* line 1, column 9"),
        ("[1]", "an event is a JSON object, not an array"),
        ("", "not JSON"),
        (b"\xff{}", "not UTF-8|not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "not a usable number|64 bits"),
    ],
)
def test_bad_text_is_refused(text, message):
    with pytest.raises(EventError, match=message):
        normalise(read_event(text))


@settings(max_examples=2000)
@given(
    st.one_of(
        st.binary(max_size=60), st.text(max_size=60), st.text(alphabet='{}[]",:0123eE+-.\\untrfalsN ', max_size=40)
    )
)
def test_any_bytes_give_an_event_or_an_error(data):
    with contextlib.suppress(TamisError):
        assert isinstance(normalise(read_event(data)), dict)


NAMES = st.sampled_from(['"a"', '"b"', '"a:b"', '"\\u0061"', '"\\ud800"', '""', '"é"'])
SCALARS = st.sampled_from(
    ["1", "-0", "1.5", "1e400", "NaN", "null", "true", '"x:y"', '"\\udc00"', "9" * 30, "1e5", '"\x01"']
)


def objects(inside):
    return st.lists(st.tuples(NAMES, inside), max_size=3).map(
        lambda pairs: "{" + ", ".join(f"{name}:{value}" for name, value in pairs) + "}"
    )


def arrays(inside):
    return st.lists(inside, max_size=3).map(lambda items: "[" + ",".join(items) + "]")


@settings(max_examples=1000)
@given(objects(st.recursive(SCALARS, lambda inside: st.one_of(objects(inside), arrays(inside)), max_leaves=5)))
def test_the_quick_way_reads_what_the_strict_way_reads(text):
    """Keys given twice, by whatever spelling and at whatever depth, colons in strings, numbers of all kinds."""

    def outcome(read):
        try:
            return repr(read(text))
        except EventError as problem:
            return str(problem)

    assert outcome(read_event) == outcome(read_strictly)
