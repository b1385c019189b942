"""The error tree: one root, positions kept, carets under the offending text, suggestions."""

import pytest

import tamis.errors as errors
from tamis.errors import FilterError, LimitError, MissingExtra, ParseError, TamisError, nearest


def test_every_error_derives_from_the_root():
    raised = [thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, Exception)]
    assert len(raised) >= 13
    assert all(issubclass(error, TamisError) for error in raised)
    assert issubclass(ParseError, FilterError)
    assert issubclass(LimitError, FilterError)


def test_a_parse_error_draws_a_caret_under_the_fault():
    error = ParseError("expected a value", "a = 1 and\nb < oops", line=2, column=5, width=4)
    assert str(error) == "line 2, column 5: expected a value\n  b < oops\n      ^^^^"
    assert (error.line, error.column, error.width) == (2, 5, 4)


def test_the_caret_never_runs_past_the_line():
    assert str(ParseError("?", "abc", 1, 2, width=50)).endswith("  abc\n   ^^")
    assert str(ParseError("?", "abc", 1, 4)).endswith("  abc\n     ^")
    assert str(ParseError("?", "", 1, 1)).endswith("  \n  ^")


def test_only_line_feeds_end_a_line():
    text = "a = 'x\x0by\u2028z\r' and ?"
    shown = str(ParseError("here", text, 1, text.index("?") + 1))
    assert shown.splitlines()[1].index("?") == shown.splitlines()[2].index("^")


def test_tabs_and_control_characters_do_not_shift_the_caret():
    shown = str(ParseError("here", "a\t=\x1b[31m ?", 1, 10)).splitlines()
    assert shown[1][shown[2].index("^")] == "?"
    assert shown[1].isprintable()


def test_a_long_line_is_cut_around_the_fault():
    text = "x" * 5000 + "?" + "y" * 5000
    shown = str(ParseError("here", text, 1, 5001)).splitlines()
    assert len(shown[1]) <= 102
    assert shown[1][shown[2].index("^")] == "?"


def test_a_limit_error_names_the_limit():
    error = LimitError("terms", 256, 1_000_000)
    assert str(error) == "the limit terms = 256 is exceeded: found 1,000,000"
    assert (error.limit, error.allowed, error.found) == ("terms", 256, 1_000_000)


def test_a_missing_extra_is_named():
    assert "pip install 'tamis[spark]'" in str(MissingExtra("the pipeline", "spark"))


@pytest.mark.parametrize(
    ("word", "clause"), [("brnad", "; did you mean 'brand'?"), ("price", "; did you mean 'price'?"), ("zzz", "")]
)
def test_the_nearest_word_is_suggested(word, clause):
    assert nearest(word, ["brand", "price"]) == clause
