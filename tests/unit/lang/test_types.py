"""Publication types as text: lines, TOML, JSON."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies as own

from tamis.errors import SchemaError, TamisError
from tamis.lang.types import parse_domain, parse_type, show_type
from tamis.model.schema import Attribute, EnumDomain, IntDomain, PlainDomain, PublicationType
from tamis.model.values import INT64_MAX, INT64_MIN

CAMERA = PublicationType(
    [
        Attribute("price", IntDomain(0, 5000)),
        Attribute("lens.zoom", PlainDomain("float")),
        Attribute("tags", PlainDomain("string"), many=True),
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        "price: int[0..5000]\nlens.zoom: float\ntags: string*\n",
        "# cameras\n\n  price : int [ 0 .. 5000 ]\r\n`lens.zoom`: float\r\ntags: string *",
        '{"price": "int[0..5000]", "lens": {"zoom": "float"}, "tags": "string*"}',
        '{"name": "camera", "attributes": {"price": "int[0..5000]", "lens.zoom": "float", "tags": "string*"}}',
        'price = "int[0..5000]"\nlens.zoom = "float"\ntags = "string*"',
        '# cameras\nname = "camera"\n[attributes]\nprice = "int[0..5000]"\ntags = "string*"\n[attributes.lens]\nzoom = "float"',
    ],
)
def test_the_three_forms_say_the_same(text):
    assert parse_type(text) == CAMERA


def test_a_type_may_be_named():
    assert parse_type("a: int", name="camera").name == "camera"
    assert parse_type('{"name": "flight", "attributes": {"a": "int"}}').name == "flight"


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("int", IntDomain()),
        ("int[-5..5]", IntDomain(-5, 5)),
        ("int[..5]", IntDomain(INT64_MIN, 5)),
        ("int[0..]", IntDomain(0, INT64_MAX)),
        ("bool", PlainDomain("bool")),
        ("timestamp", PlainDomain("timestamp")),
        ("enum{a, b c ,d}", EnumDomain(("a", "b c", "d"))),
        (
            "enum{1, 2.5, -3, true, 'true', '1', \"x\\n\", 'a, }'}",
            EnumDomain((1, 2.5, -3, True, "true", "1", "x\n", "a, }")),
        ),
    ],
)
def test_domains(text, domain):
    assert parse_domain(text) == (domain, False)
    assert parse_domain(text + "*") == (domain, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "declares no attribute"),
        ("# nothing", "declares no attribute"),
        ("price int", "line 1: expected `name: domain`, found 'price int'"),
        ("a: int\n\nb: itn", "line 3: attribute 'b': there is no domain 'itn'; did you mean 'int'?"),
        ("a: int\na: bool", "attribute 'a' is declared twice"),
        ("a:", "line 1: attribute 'a': '' is not a domain"),
        ("a: float[1..2]", "float takes no [1..2]"),
        ("a: int[1..x]", "[1..x] is not a range of integers such as [0..100]"),
        ("a: int[5..1]", "is empty"),
        ("a: int[0..99999999999999999999999]", "not a range of integers"),
        ("a: enum", "an enum needs at least one value"),
        ("a: enum{}", "is not a list of members"),
        ("a: enum{a,,b}", "is not a list of members"),
        ("a: enum{'a}", "is not a list of members"),
        ('a: enum{"\\q"}', "unknown escape"),
        ("a: enum{1e999}", "not a finite number"),
        ("a: enum{a, a}", "the enum repeats 'a'"),
        ('{"a": 5}', "attribute 'a': a domain is text such as 'int[0..100]', not 5"),
        ('{"a": "int", "a": "bool"}', "attribute 'a' is declared twice"),
        ('{"attributes": {"a": "int"}, "x": 1}', "a type has `name` and `attributes`, not 'x'"),
        ("{", "not valid JSON"),
        ("[x", "not valid TOML"),
        ("a = 5", "a domain is text"),
        ('{"a":' * 100 + '"int"' + "}" * 100, "nested deeper"),
        ('{"a":' * 100_000, "not valid JSON"),
    ],
)
def test_malformed_types_are_refused(text, message):
    with pytest.raises(SchemaError) as caught:
        parse_type(text)
    assert message in str(caught.value)


names = st.text(min_size=1, max_size=5) | st.sampled_from(("a", "and", "a:b", "x y", "a`b", "#", "é", "a\nb", " "))


@settings(max_examples=200)
@given(st.dictionaries(names, st.tuples(st.sampled_from(own.DOMAINS), st.booleans()), min_size=1, max_size=4))
def test_a_shown_type_reads_back(declared):
    type = PublicationType([Attribute(name, domain, many) for name, (domain, many) in declared.items()])
    assert parse_type(show_type(type)) == type


@settings(max_examples=200)
@given(st.lists(own.scalars, min_size=1, max_size=4, unique_by=lambda value: (isinstance(value, bool), value)))
def test_a_shown_enum_reads_back(values):
    type = PublicationType({"a": EnumDomain(tuple(values))})
    assert parse_type(show_type(type)) == type


@settings(max_examples=300)
@given(st.text(max_size=40) | st.text("a:[]{}*., '\"=\nint0enum", max_size=40))
def test_any_text_is_a_type_or_an_error(text):
    with suppress(TamisError):
        parse_type(text)
