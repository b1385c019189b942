"""Whatever comes in as a filter: a condition or a TamisError, nothing else."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies as own

from tamis.errors import ParseError, TamisError
from tamis.lang.normalise import normalise
from tamis.lang.parse import parse
from tamis.lang.print import show
from tamis.lang.shapes import ShapeCache

LANGUAGE = """
and or not in between like matches contains starts ends with exists missing true false nocase null
( ) , = == != <> < <= > >= + - * / ? ' " ` . ; \\ % _ @ && || ! ~ { } [ ] f( '(' ''
a b c.d ?x 1 -2 3.5 1e9 'x' "y\\n" `q` é 日本 99999999999999999999 1e999
"""
PIECES = (*LANGUAGE.split(), "\ud800", "\0", "\n", "\t", "`q r`", "'\n'")
CACHE = ShapeCache()


def read(text):
    """Read a text in both ways; both must agree on whether it is a filter."""
    quick = expression = fault = None
    with suppress(TamisError):
        quick = CACHE.normalise(text)
    try:
        expression = parse(text)
    except TamisError as problem:
        fault = problem
    if expression is None:
        assert quick is None
        if isinstance(fault, ParseError):
            assert 1 <= fault.line <= text.count("\n") + 1
            assert 1 <= fault.column <= len(text) + 1
        return
    assert parse(show(expression)) == expression
    with suppress(TamisError):
        assert normalise(expression) == quick


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_pieces_of_the_language_in_any_order(pieces):
    read(" ".join(pieces))
    read("".join(pieces))


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_any_text(text):
    read(text)


@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_any_bytes(raw):
    read(raw.decode("latin-1"))
    read(raw.decode("utf-8", "surrogateescape"))


@settings(max_examples=400)
@given(st.data())
def test_filters_with_a_few_characters_changed(data):
    text = show(data.draw(own.all_expressions))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 2))
        text = text[:at] + data.draw(st.sampled_from(("", *PIECES))) + text[at + cut :]
    read(text)
