"""Binding: constants take the form of their domains; what does not fit is refused by name."""

import pytest

from tamis.errors import BindError
from tamis.lang.bind import bind
from tamis.lang.parse import parse
from tamis.lang.print import show
from tamis.lang.types import parse_type

CAMERA = parse_type(
    """
    price: int[0..5000]
    zoom: float
    brand: enum{Sony, Leica, Canon}
    mixed: enum{auto, 1, 2}
    used: bool
    title: string
    tags: string*
    listed: timestamp
    """,
    name="camera",
)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("price < 300.0", "price < 300"),
        ("price between 0 and 5000", "price between 0 and 5000"),
        ("zoom > 3", "zoom > 3"),
        ("brand in ('Sony', 'Leica')", "brand in ('Sony', 'Leica')"),
        ("brand = 'sony' nocase", "brand = 'sony' nocase"),
        ("brand starts with 'S'", "brand starts with 'S'"),
        ("brand < 'Sony'", "brand < 'Sony'"),
        ("mixed = 1 or mixed = 'auto'", "mixed = 1 or mixed = 'auto'"),
        ("mixed like 'a%'", "mixed like 'a%'"),
        ("used = true", "used = true"),
        ("not (tags = 'x' or exists(title))", "not (tags = 'x' or exists(title))"),
        ("listed >= '1970-01-01T00:00:01Z'", "listed >= 1000000"),
        ("listed between '1970-01-01' and '1970-01-01T00:00:00.000005'", "listed between 0 and 5"),
        ("locIn(Bronx) and ?x > 5", "locIn(Bronx) and ?x > 5"),
        ("true", "true"),
    ],
)
def test_conditions_that_fit(text, bound):
    assert show(bind(parse(text), CAMERA)) == bound


def test_nothing_changes_where_nothing_must():
    expression = parse("price < 300 and brand = 'Sony'")
    assert bind(expression, CAMERA) == expression


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pirce < 300", "type camera has no attribute 'pirce'; did you mean 'price'?"),
        ("missing(brnd)", "has no attribute 'brnd'; did you mean 'brand'?"),
        ("price < 6000", "attribute 'price': 6000 is outside its domain int[0..5000]"),
        ("price = 2.5", "attribute 'price': 2.5 is outside its domain int[0..5000]"),
        ("price = 'cheap'", "attribute 'price': 'cheap' is outside its domain int[0..5000]"),
        ("price in (1, 2, -3)", "attribute 'price': -3 is outside its domain int[0..5000]"),
        ("price starts with '1'", "attribute 'price': starts with needs strings, but its domain is int[0..5000]"),
        ("listed like '2024%'", "attribute 'listed': like needs strings, but its domain is timestamp"),
        ("listed > 'soon'", "attribute 'listed': 'soon' is outside its domain timestamp"),
        ("listed = '1970-01-01' nocase", "attribute 'listed': nocase needs strings, but its domain is timestamp"),
        ("brand = 'sony'", "attribute 'brand': 'sony' is outside its domain enum{Sony, Leica, Canon}"),
        ("brand = 'nikon' nocase", "attribute 'brand': 'nikon' is outside its domain enum{Sony, Leica, Canon}"),
        ("used = 1", "attribute 'used': 1 is outside its domain bool"),
        ("used < 1", "attribute 'used': < needs an order, but its domain is bool"),
        ("title = 5", "attribute 'title': 5 is outside its domain string"),
        ("zoom = '3'", "attribute 'zoom': '3' is outside its domain float"),
        ("true or (false and not price = -1)", "attribute 'price': -1 is outside"),
    ],
)
def test_conditions_that_do_not_fit(text, message):
    with pytest.raises(BindError) as caught:
        bind(parse(text), CAMERA)
    assert message in str(caught.value)
