"""Shapes: what they keep, which filters a template fits, and that a fault is reported as the parser reports it."""

import pytest

from tamis.errors import BindError, LimitError, ParseError
from tamis.lang.bind import bind
from tamis.lang.normalise import normalise
from tamis.lang.parse import parse
from tamis.lang.print import show_dnf
from tamis.lang.shapes import ShapeCache, shape_of
from tamis.lang.types import parse_type
from tamis.model.limits import Limits


@pytest.mark.parametrize(
    ("text", "shape", "constants"),
    [
        ("price < 300 and brand = 'Sony'", "price < 0 and brand = ''", (300, "Sony")),
        ("a = -1.5e3 or b='it''s'", "a = -0 or b=''", (1500.0, "it's")),
        ('a = "x\\n" and a = true', "a = '' and a = true", ("x\n",)),
        ("x1 = 1 and `5 'odd` = 2 and ?y2 > 3", "x1 = 0 and `5 'odd` = 0 and ?y2 > 0", (1, 2, 3)),
        ("c.2 = 1", "c.2 = 0", (1,)),
        ("a = 5x", "a = 5x", ()),
        ("a = 1.2.3", "a = 1.2.3", ()),
        ("f(Bronx, 2, 'x')", "f(Bronx, 0, '')", (2, "x")),
    ],
)
def test_shapes(text, shape, constants):
    assert shape_of(text) == (shape, constants)


def test_filters_of_one_shape_share_a_template():
    cache = ShapeCache()
    found = [cache.lookup(text) for text in ("a < 1 and b = 'x'", "a < 2.5 and b = 'y'", "a < -1 and b = 'x'")]
    (first, one), (second, two), (third, three) = filter(None, found)
    assert first is second is not third
    assert (one, two, three) == ((1, "x"), (2.5, "y"), (-1, "x"))
    assert cache.template.cache_info().misses == 2


def test_a_template_shows_its_literals_and_slots():
    found = ShapeCache().lookup("b = 'x' and a between 1 and 2 and c = true or missing(d)")
    assert found is not None
    template, constants = found
    assert template.fits(constants)
    shown = [(part.literal.atom.op.value, part.slots) for part in template.simple.literals]  # type: ignore[union-attr]
    assert shown == [("=", (0,)), ("between", (1, 2)), ("=", (None,)), ("missing", ())]
    assert template.simple.terms == ((0, 1, 2), (3,))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a > 1 and a < 2", True), ("a > 2 and a < 1", True), ("a = 1 or a = 2", True), ("a != 1 and a != 2", True),
        ("a between 1 and 2", True), ("a in (1, 2)", True), ("a > 1 or a > 2", True), ("not a > 1 and a < 5", True),
        ("a = 1 or a = 1", False), ("a != 1 and a != 1", False), ("a between 2 and 1", False), ("a between 1 and 1", False),
        ("not a between -2 and -1", True), ("not a between 1 and -1", False),
        ("b in (0, 1, 2, 3, 4, 5, 6, 7, 8) and not a between 'x' and 'y'", True),
        ("a between -2 and -1", True), ("a between -1 and -2", False), ("a in (1, 1.0)", False),
        ("a > 1 and a > 2", False), ("a = 1 and a > 2", False), ("a between 1 and 5 and a > 3", False),
    ],
)  # fmt: skip
def test_a_template_is_used_as_it_stands_only_where_constants_make_no_difference(text, fits):
    cache = ShapeCache()
    found = cache.lookup(text)
    assert found is not None
    assert found[0].fits(found[1]) is fits
    assert cache.normalise(text) == normalise(parse(text))


TYPE = parse_type("n: int[0..9]\ne: enum{x, y}\nt: timestamp\ns: string")


@pytest.mark.parametrize(
    ("text", "dnf"),
    [
        ("n < 5.0", "n < 5"), ("n >= 0", "exists(n)"), ("n > 2 and n < 5", "n between 3 and 4"), ("not n = 3", "n != 3"),
        ("e = 'x'", "e = 'x'"), ("e in ('x', 'y')", "exists(e)"), ("not t > '1970-01-01'", "t <= 0"), ("t = 5", "t = 5"),
        ("false and n = 3 or s like 'a%'", "s like 'a%'"),
    ],
)  # fmt: skip
def test_under_a_type(text, dnf):
    cache = ShapeCache(TYPE)
    for _ in range(2):
        assert show_dnf(cache.normalise(text)) == dnf


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("n > 2 and n < 5", True), ("n < 5 and n > 2", True), ("n > 2 and n < 4", False), ("n >= 2 and n < 4", True),
        ("n >= 2 and n <= 3", True), ("n >= 2 and n <= 2", False), ("n > 5 and n < 2", False), ("n >= 0 and n < 5", False),
        ("s > 'a' and s <= 'b'", True), ("s > 'b' and s <= 'b'", False), ("n > 2 and n < 8 and n != 5", False),
        ("e = 'x'", True), ("e != 'x' and n > 2", True), ("e in ('x', 'y')", False), ("not n > 2 and not n < 1", True),
        ("t > '1970-01-01' and t < '1970-01-02'", True), ("n > 2 and n < 8 or n > 1 and n < 7", True),
    ],
)  # fmt: skip
def test_reuse_under_a_type(text, fits):
    cache = ShapeCache(TYPE)
    found = cache.lookup(text)
    assert found is not None
    assert found[0].fits(found[1]) is fits
    assert cache.normalise(text) == normalise(bind(parse(text), TYPE), TYPE)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a = ", ParseError, "column 4"),
        ("a matches '('", ParseError, "column 11"),
        ("a = 9223372036854775808", ParseError, "64 bits"),
        ("a = '" + "x" * 5000 + "'", LimitError, "filter_bytes"),
        (" or ".join(["a = 1"] * 65), LimitError, "predicates"),
        (" and ".join(["(a = 1 or b = 2)"] * 9), LimitError, "terms = 256 is exceeded: found 512"),
    ],
)
def test_faults_are_the_parsers(text, error, message):
    cache = ShapeCache()
    for _ in range(2):
        with pytest.raises(error, match=message):
            cache.normalise(text)


def test_a_good_filter_does_not_vouch_for_a_bad_one_of_its_shape():
    cache = ShapeCache(TYPE)
    cache.normalise("n = 5 and s matches 'x'")
    with pytest.raises(BindError, match="10 is outside its domain"):
        cache.normalise("n = 10 and s matches 'x'")
    with pytest.raises(ParseError, match="not an RE2 regular expression"):
        cache.normalise("n = 5 and s matches '('")
    with pytest.raises(BindError, match="-5 is outside its domain"):
        cache.normalise("false and n = -5")


def test_the_cache_is_bounded_and_text_is_held_to_the_limits():
    cache = ShapeCache(limits=Limits(filter_bytes=10), capacity=2)
    for name in "abcd":
        cache.normalise(f"{name} = 1")
    assert cache.template.cache_info().currsize == 2
    with pytest.raises(LimitError, match="filter_bytes = 10"):
        cache.normalise("a = 1 and b = 1")
