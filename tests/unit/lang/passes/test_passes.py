"""Each rewrite as pairs of what goes in and what comes out."""

import pytest

from tamis.errors import LimitError
from tamis.lang.bind import bind
from tamis.lang.normalise import normalise
from tamis.lang.parse import parse
from tamis.lang.passes.absorption import absorption
from tamis.lang.passes.canonical import canonical
from tamis.lang.passes.complements import complements
from tamis.lang.passes.dnf import count, expand
from tamis.lang.passes.domains import domains
from tamis.lang.passes.implied import implied
from tamis.lang.passes.negation import push_down
from tamis.lang.passes.order import ORDER
from tamis.lang.passes.scalars import scalars
from tamis.lang.print import show, show_dnf
from tamis.lang.types import parse_type
from tamis.model.limits import Limits

TYPE = parse_type(
    """
    n: int[0..100]
    i: int
    f: float
    s: string
    e: enum{x, y, z}
    one: enum{only}
    m: enum{a, 1, 2}
    b: bool
    t: timestamp
    ns: int[0..100]*
    """
)


def expanded(text, type=None):
    expression = parse(text)
    if type is not None:
        expression = bind(expression, type)
    return expand(push_down(expression, type), Limits())


@pytest.mark.parametrize(
    ("given", "pushed"),
    [
        ("not not a = 1", "a = 1"),
        ("not (a = 1 and b = 2)", "not a = 1 or not b = 2"),
        ("not (a = 1 or not b = 2)", "not a = 1 and b = 2"),
        ("not (a = 1 or (b = 2 and not c = 3))", "not a = 1 and (not b = 2 or c = 3)"),
        ("not exists(a)", "missing(a)"),
        ("not missing(a)", "exists(a)"),
        ("not true or not false", "false or true"),
        ("not (f(?x) and ?x > 1)", "not f(?x) or not ?x > 1"),
        # Untyped attributes may hold lists and values of any kind: no operator is turned round.
        ("not a < 5", "not a < 5"),
        ("not a != 5", "not a != 5"),
        ("not a in (1)", "not a in (1)"),
    ],
)
def test_negation(given, pushed):
    assert show(push_down(parse(given), None)) == pushed


@pytest.mark.parametrize(
    ("given", "pushed"),
    [
        ("not n = 5", "n != 5"), ("not n != 5", "n = 5"), ("not n < 5", "n >= 5"), ("not n >= 5", "n < 5"),
        ("not n > 5", "n <= 5"), ("not n <= 5", "n > 5"), ("not n in (1, 2)", "n not in (1, 2)"),
        ("not n not in (1, 2)", "n in (1, 2)"), ("not n between 1 and 2", "n not between 1 and 2"),
        ("not s like 'x'", "s not like 'x'"), ("not s < 'x' nocase", "s >= 'x' nocase"),
        ("not m = 1", "m != 1"), ("not m < 2", "not m < 2"),  # `m` may be a string, which is in no order with 2
        ("not ns = 5", "not ns = 5"), ("not ns < 5", "not ns < 5"),  # `ns` may be a list
        ("not t < '1970-01-01'", "t >= 0"),
    ],
)  # fmt: skip
def test_negation_under_a_type(given, pushed):
    assert show(push_down(bind(parse(given), TYPE), TYPE)) == pushed


@pytest.mark.parametrize(
    ("given", "terms"),
    [
        ("a = 1", 1), ("true", 1), ("false", 0), ("a = 1 or b = 2", 2), ("(a = 1 or b = 2) and (c = 3 or d = 4)", 4),
        ("(a = 1 or b = 2) and false", 0), ("(a = 1 or b = 2) and (true or c = 1)", 4),
        (" and ".join(f"(a = {i} or b = {i})" for i in range(8)), 256),
        (" and ".join(f"(a = {i} or b = {i})" for i in range(32)), 2**32),
    ],
)  # fmt: skip
def test_conjunctions_are_counted_before_they_are_made(given, terms):
    expression = parse(given)
    assert count(expression) == terms
    if terms <= 256:
        assert len(expand(expression, Limits())) == terms
    else:
        with pytest.raises(LimitError, match=r"terms = 256 is exceeded: found 4,294,967,296"):
            expand(expression, Limits())


def test_the_limit_on_terms_holds_for_the_negation_pushed_down():
    text = "not (" + " or ".join(f"a = {i} and b = {i}" for i in range(9)) + ")"
    with pytest.raises(LimitError, match="terms = 256 is exceeded: found 512"):
        normalise(parse(text))


def test_expansion_keeps_the_order_of_the_text():
    assert show_dnf(expanded("a = 1 and (b = 2 or c = 3 and d = 4) and e = 5")) == (
        "a = 1 and b = 2 and e = 5 or a = 1 and c = 3 and d = 4 and e = 5"
    )


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("a in (1)", "a = 1"), ("a in (1, 1.0)", "a = 1"), ("a in (1, true)", "a in (1, true)"),
        ("a in ('x', 'y', 'x')", "a in ('x', 'y')"), ("a not in (1)", "a != 1"), ("a between 2 and 2.0", "a = 2"),
        ("a in ('x') nocase", "a = 'x' nocase"), ("a between 'b' and 'A' nocase", "a between 'b' and 'A' nocase"),
        ("a between 2 and 1", "false"), ("a between 2 and 1 or b = 1", "b = 1"),
        ("not a between 2 and 1", "exists(a)"),
        ("not a in (1)", "not a = 1"),
    ],
)  # fmt: skip
def test_canonical(given, left):
    assert show_dnf(canonical(expanded(given), None)) == left


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("a = 1 and b = 2 and a = 1", "a = 1 and b = 2"),
        ("a = 1 and not a = 1", "false"),
        ("a = 1 and not a = 1 or b = 1", "b = 1"),
        ("f(1) and f(1) and not g(2)", "f(1) and not g(2)"),
        ("f(1) and not f(1)", "false"),
        ("exists(a) and missing(a)", "false"),
        ("missing(a) and a = 1", "false"),
        ("missing(a) and not a = 1", "false"),
        ("exists(a) and a = 1", "a = 1"),
        ("exists(a) and not a = 1", "not a = 1"),
        ("exists(a) and missing(b)", "exists(a) and missing(b)"),
        ("a > 3 and a > 5", "a > 5"), ("a >= 5 and a > 5", "a > 5"), ("a > 5 and a >= 4", "a > 5"),
        ("a < 3 and a <= 5", "a < 3"), ("a < 'x' and a < 'y'", "a < 'x'"), ("a > 3 and a > 'x'", "a > 3 and a > 'x'"),
        ("a between 2 and 4 and a > 1", "a between 2 and 4"), ("a between 2 and 4 and a >= 2", "a between 2 and 4"),
        ("a between 2 and 4 and a > 2", "a between 2 and 4 and a > 2"),
        ("a between 2 and 4 and a between 1 and 5", "a between 2 and 4"),
        ("a = 5 and a > 3", "a = 5"), ("a = 5 and a in (4, 5)", "a = 5"), ("a in (4, 5) and a < 6", "a in (4, 5)"),
        ("a = 'abc' and a starts with 'ab'", "a = 'abc'"), ("a = 'abc' and a = 'ABC' nocase", "a = 'abc'"),
        ("a = 5 and a != 6", "a = 5"), ("a in (1, 2) and a in (3, 2, 1)", "a in (1, 2)"),
        # A negated literal speaks of all values: the wider one stays, and an overlap is a contradiction.
        ("not a > 3 and not a > 5", "not a > 3"), ("a > 5 and not a > 3", "false"),
        ("a > 3 and not a > 5", "a > 3 and not a > 5"),
        ("a = 4 and not a in (3, 4)", "false"), ("a = 4 and not a > 5", "a = 4 and not a > 5"),
        # What a list may satisfy with two different values is left alone.
        ("a > 20 and a < 10", "a > 20 and a < 10"), ("a = 1 and a = 2", "a = 1 and a = 2"),
        ("a = 1 and a != 1", "a = 1 and a != 1"),
    ],
)  # fmt: skip
def test_implied(given, left):
    assert show_dnf(implied(expanded(given), None)) == left


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("n >= 0", "exists(n)"), ("n <= 100", "exists(n)"), ("n between 0 and 100", "exists(n)"), ("n < 0", "false"),
        ("n > 100", "false"), ("n >= 1", "n >= 1"), ("n between 0 and 99", "n between 0 and 99"), ("n > 0", "n > 0"),
        ("ns >= 0", "exists(ns)"), ("not ns >= 0", "false"), ("ns > 100", "false"), ("not ns > 100", "exists(ns)"),
        ("e in ('x', 'y', 'z')", "exists(e)"), ("e >= 'x'", "exists(e)"), ("e > 'z'", "false"),
        ("e like '_'", "exists(e)"),
        ("e = 'X' nocase", "e = 'X' nocase"), ("one = 'only'", "exists(one)"), ("one != 'only'", "false"),
        ("b in (true, false)", "exists(b)"), ("b = true", "b = true"), ("i > 9223372036854775807", "false"),
        ("i <= 9223372036854775807", "exists(i)"), ("s >= ''", "s >= ''"), ("f > 0", "f > 0"),
        ("exists(n)", "exists(n)"),
    ],
)  # fmt: skip
def test_domains(given, left):
    assert show_dnf(domains(expanded(given, TYPE), TYPE)) == left


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("n > 20 and n < 10", "false"), ("n > 5 and n < 6", "false"), ("n = 1 and n = 2", "false"),
        ("n = 1 and n != 1", "false"),
        ("n > 5 and n < 10", "n between 6 and 9"), ("n > 5 and n < 7", "n = 6"), ("n >= 5 and n <= 5", "n = 5"),
        ("n > 5 and n > 7", "n >= 8"), ("n > 5 and n != 3", "n >= 6"), ("n > 5 and n != 30", "n >= 6 and n != 30"),
        ("n > 5 and n not in (1, 2) and n not in (8, 1)", "n >= 6 and n not in (8, 1)"),
        ("n in (1, 5, 9) and n > 3", "n in (5, 9)"), ("n in (1, 5) and n in (5, 9)", "n = 5"),
        ("n in (1, 5) and n != 1", "n = 5"),
        ("n between 1 and 9 and n between 5 and 20", "n between 5 and 9"),
        ("n between 1 and 4 and n between 5 and 20", "false"),
        ("f > 5 and f < 6", "f > 5 and f < 6"), ("f > 5 and f <= 5", "false"), ("f >= 5 and f <= 5", "f = 5"),
        ("f >= 5 and f <= 6", "f between 5 and 6"), ("f > 5 and f > 5.5 and f >= 5.5", "f > 5.5"),
        ("f >= 5 and f <= 5 and f != 5", "false"),
        ("s > 'a' and s < 'b'", "s > 'a' and s < 'b'"), ("s >= 'b' and s <= 'a'", "false"),
        ("s > 'a' and s like 'x%' and s != 'A'", "s > 'a' and s like 'x%'"),
        ("s = 'xy' and s like 'x%' and s > 'a'", "s = 'xy'"),
        ("s = 'xy' and s not like 'x%'", "false"), ("s = 'x' and s = 'X' nocase", "s = 'x'"),
        ("e != 'x' and e != 'y'", "e = 'z'"), ("e != 'x' and e < 'z'", "e = 'y'"),
        ("e != 'x' and e != 'y' and e != 'z'", "false"),
        ("m != 'a' and m > 1", "m = 2"), ("b != true and b != false", "false"),
        ("b != true and s = 'x'", "b != true and s = 'x'"),
        ("t > '1970-01-01' and t < '1970-01-01T00:00:01'", "t between 1 and 999999"),
        ("ns > 20 and ns < 10", "ns > 20 and ns < 10"), ("ns = 1 and ns = 2", "ns = 1 and ns = 2"),
        ("s = 'x' and n > 5 and f > 1 and n < 10", "s = 'x' and n between 6 and 9 and f > 1"),
        ("n > 5 and locIn(Bronx) and n < 10", "n between 6 and 9 and locIn(Bronx)"),
        ("i > 5 and not i between 7 and 8 and i < 10", "i between 6 and 9 and i not between 7 and 8"),
    ],
)  # fmt: skip
def test_scalars(given, left):
    assert show_dnf(scalars(expanded(given, TYPE), TYPE)) == left


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("a = 1 or not a = 1", "exists(a)"),
        ("a = 1 and b = 2 or a = 1 and not b = 2", "a = 1 and exists(b)"),
        ("b = 2 and a = 1 or a = 1 and not b = 2", "a = 1 and exists(b)"),
        ("exists(a) or missing(a)", "true"),
        ("exists(a) and b = 1 or missing(a) and b = 1", "b = 1"),
        ("a = 1 and a < 5 or a = 1 and not a < 5", "a = 1"),
        ("(a = 1 or not a = 1) and (b = 1 or not b = 1)", "exists(a) and exists(b)"),
        ("a = 1 or a != 1", "a = 1 or a != 1"),  # on [1, 2] both hold, on an absent attribute neither
        ("f(1) or not f(1)", "f(1) or not f(1)"),  # an operator may fail
        ("a = 1 and b = 2 or not a = 1 and c = 3", "a = 1 and b = 2 or not a = 1 and c = 3"),
    ],
)
def test_complements(given, left):
    assert show_dnf(complements(expanded(given), None)) == left


def test_complements_under_a_type():
    assert show_dnf(complements(expanded("n = 1 or n != 1", TYPE), TYPE)) == "exists(n)"
    assert (
        show_dnf(complements(expanded("n < 5 and b = true or n >= 5 and b = true", TYPE), TYPE))
        == "b = true and exists(n)"
    )
    assert show_dnf(complements(expanded("ns < 5 or ns >= 5", TYPE), TYPE)) == "ns < 5 or ns >= 5"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("a = 1 or a = 1 and b = 2", "a = 1"),
        ("a = 1 and b = 2 or a = 1", "a = 1"),
        ("a = 1 or b = 2 or a = 1", "a = 1 or b = 2"),
        ("a = 1 and b = 2 or b = 2 and a = 1", "a = 1 and b = 2"),
        ("a = 1 or true", "true"),
        ("a = 1 and b = 2 or a = 1 and c = 3", "a = 1 and b = 2 or a = 1 and c = 3"),
    ],
)
def test_absorption(given, left):
    assert show_dnf(absorption(expanded(given), None)) == left


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("price > 10 and price < 20", "price > 10 and price < 20"),
        ("(a = 1 or b = 1) and (a = 1 or c = 1)", "a = 1 or b = 1 and c = 1"),
        ("a in (1) and a = 1", "a = 1"),
        ("not (a = 1 or b between 2 and 1)", "not a = 1 and exists(b)"),
        ("not (missing(a) or not a > 5)", "a > 5"),
        ("a > 5 and (a > 3 or b = 1) and (exists(a) or c = 1)", "a > 5"),
        ("true and a = 1 or false", "a = 1"),
        ("a = 1 and false", "false"),
    ],
)
def test_the_whole(given, left):
    assert show_dnf(normalise(parse(given))) == left


def test_every_pass_runs():
    assert (canonical, domains, implied, scalars, complements, absorption) == ORDER
