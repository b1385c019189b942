"""The builder gives the model the parser gives."""

import pytest

from tamis.errors import FilterError, LimitError
from tamis.lang.build import attr, call, var
from tamis.lang.filters import expression_of
from tamis.lang.parse import parse
from tamis.model.limits import Limits
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import And, Constant, Not, Or


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (attr("price") < 300, "price < 300"),
        (attr("a") <= 1, "a <= 1"),
        (attr("a") > 1, "a > 1"),
        (attr("a") >= 1, "a >= 1"),
        (300 >= attr("price"), "price <= 300"),  # noqa: SIM300 (Python turns it round)
        (attr("a") == "x", "a = 'x'"),
        (attr("a") != True, "a != true"),  # noqa: E712 (a condition is built, not a truth tested)
        (attr("a").between(1, 2), "a between 1 and 2"),
        (attr("a").isin(1, "x"), "a in (1, 'x')"),
        (attr("a").notin(1), "a not in (1)"),
        (attr("a b").exists(), "exists(`a b`)"),
        (attr("a").missing(), "missing(a)"),
        (attr("a").startswith("x"), "a starts with 'x'"),
        (attr("a").endswith("x"), "a ends with 'x'"),
        (attr("a").contains("x"), "a contains 'x'"),
        (attr("a").like("x%"), "a like 'x%'"),
        (attr("a").matches("^x"), "a matches '^x'"),
        (attr("a").nocase() == "x", "a = 'x' nocase"),
        (attr("a").nocase().startswith("x"), "a starts with 'x' nocase"),
        ((attr("a") < 1) & (attr("b") < 2) & (attr("c") < 3), "a < 1 and b < 2 and c < 3"),
        ((attr("a") < 1) | (attr("b") < 2) & (attr("c") < 3), "a < 1 or b < 2 and c < 3"),
        (((attr("a") < 1) | (attr("b") < 2)) & (attr("c") < 3), "(a < 1 or b < 2) and c < 3"),
        (~((attr("a") < 1) | ~(attr("b") < 2)), "not (a < 1 or not b < 2)"),
        (call("locIn", "Bronx") & call("count", var("x")) & (var("x") > 50), "locIn(Bronx) and count(?x) and ?x > 50"),
        (var("y") > 2 * var("z") + 1, "?y > 2 * ?z + 1"),
        (var("y") - 1 <= var("z") / 2, "?y - 1 <= ?z / 2"),
        ((1 - var("y")) * var("z") != 1 / var("x"), "(1 - ?y) * ?z != 1 / ?x"),
        (1 + var("y") >= "x", "1 + ?y >= 'x'"),
        (var("y") == True, "?y = true"),  # noqa: E712
        (var("y") < 5, "?y < 5"),
    ],
)
def test_built_and_parsed_are_equal(built, text):
    assert built.expression == parse(text)
    assert expression_of(built) == expression_of(text) == expression_of(parse(text))


@pytest.mark.parametrize(
    "build",
    [
        lambda: attr("") == 1,
        lambda: attr("a") == float("nan"),
        lambda: attr("a") == None,  # noqa: E711
        lambda: attr("a") == attr("b"),  # type: ignore[operator]
        lambda: attr("a") < True,
        lambda: attr("a").isin(),
        lambda: attr("a").startswith(5),  # type: ignore[arg-type]
        lambda: attr("a").matches("("),
        lambda: attr("a").nocase() == 5,
        lambda: (attr("a") < 1) & attr("b"),  # type: ignore[operator]
        lambda: (attr("a") < 1) and (attr("b") < 2),
        lambda: 1 < attr("a") < 5,  # Python reads this as `and`
        lambda: var("x") + "a",  # type: ignore[operator]
        lambda: call("f", var("x") + 1),
        lambda: expression_of(5),  # type: ignore[arg-type]
        lambda: expression_of(And((Constant(True),))),
        lambda: expression_of(Not(None)),  # type: ignore[arg-type]
        lambda: expression_of(Or((Constant(True), Predicate("a", Op.LT, (True,))))),
    ],
)
def test_what_cannot_be_said_is_refused_at_once(build):
    with pytest.raises(FilterError):
        build()


def test_built_conditions_are_held_to_the_limits():
    condition = attr("a") < 1
    for _ in range(60):
        condition = ~(condition & condition)  # shared parts: 2^60 leaves, which must not be walked one by one
    with pytest.raises(LimitError, match="depth"):
        expression_of(condition)
    with pytest.raises(LimitError, match="predicates = 1 "):
        expression_of((attr("a") < 1) & (attr("b") < 1), Limits(predicates=1))
