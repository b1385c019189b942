"""The examples of the language page hold."""

import re
from pathlib import Path

import pytest

from tamis.errors import ParseError
from tamis.lang import normalise, parse
from tamis.lang.types import parse_type
from tamis.model.evaluate import matches
from tamis.model.event import normalise as event_of

PAGE = (Path(__file__).parents[3] / "docs" / "lang.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PYTHON = [text for language, text in BLOCKS if language == "python"]
FILTER, OPERATORS, FAULT, TYPE = [text for language, text in BLOCKS if not language]


@pytest.mark.parametrize("source", PYTHON)
def test_python_examples_run(source):
    exec(compile(source, "docs/lang.md", "exec"), {})


def test_the_first_filter_parses():
    assert normalise(parse(FILTER))


@pytest.mark.parametrize("text", OPERATORS.strip().split("\n"))
def test_operator_examples_parse(text):
    assert normalise(parse(text))


def test_the_fault_is_reported_as_shown():
    with pytest.raises(ParseError) as caught:
        parse(FAULT.split("\n")[1].strip())
    assert str(caught.value) == FAULT.rstrip("\n")


def test_the_type_parses():
    assert list(parse_type(TYPE).attributes) == ["price", "zoom", "brand", "used", "title", "tags", "listed"]


def test_the_table_of_lists_is_right():
    section = PAGE.split("So on `a: [5, 6]`")[1].split("## ")[0]
    rows = re.findall(r"^\| (`.*?`) \| .*? \| (yes|no) \|$", section, re.MULTILINE)
    assert len(rows) == 4
    for conditions, answer in rows:
        for text in re.findall(r"`(.*?)`", conditions):
            assert matches(parse(text), event_of({"a": [5, 6]})) is (answer == "yes"), text


def test_predicates_of_the_table_parse():
    section = PAGE.split("## Predicates")[1].split("## ")[0]
    shown = [text for text in re.findall(r"^\| `([^`]*)`", section, re.MULTILINE) if text != "written"]
    assert len(shown) == 9
    for text in shown:
        parse(text)
