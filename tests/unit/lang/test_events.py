import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import EventError, TamisError
from tamis.lang.events import read_event
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
