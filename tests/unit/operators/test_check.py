import pytest

from tamis.errors import OperatorError
from tamis.lang import normalise, parse
from tamis.operators.check import check_operators
from tamis.operators.registry import Registry

registry = Registry()
registry.operator("locIn")(lambda event, area: True)
registry.operator("count", outputs=1)(lambda event: 1)
registry.operator("distance", outputs=1)(lambda event, place: 1)
registry.operator("pair")(lambda event, left, right: True)


def check(text: str) -> None:
    check_operators(normalise(parse(text)), registry)


@pytest.mark.parametrize(
    "text",
    [
        "locIn(Bronx) and count(?n) and ?n > 2 * 3",
        "not locIn(Bronx)",
        "count(?n) and not distance('a', ?n)",
        "count(?n) and (?n > 5 or locIn(Bronx))",
        "count(3)",
        "pair(?x, ?x)",
        "a = 1 and not (b = 2 and locIn(Bronx))",
    ],
)
def test_accepted(text):
    check(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("locin(Bronx)", "no operator 'locin'; did you mean 'locIn'"),
        ("locIn(Bronx, Queens)", "locIn.*takes 1 argument, not 2"),
        ("count()", r"count\(\).*takes 1 argument, not 0"),
        ("locIn(Bronx) and ?n > 5", r"variable \?n of a constraint is not bound"),
        ("(count(?n) or locIn(Bronx)) and ?n > 5", r"variable \?n of a constraint is not bound"),
        ("count(?n) and ?n > 1 / 0", "divides by zero"),
        ("not count(?n)", r"not count\(\?n\): a negated operator binds nothing, so \?n must be bound"),
        ("not (count(?n) and ?n > 5)", "a negated operator binds nothing|not bound"),
        ("distance(?where, ?d)", "argument 1 of 'distance' is an input"),
    ],
)
def test_refused(text, told):
    with pytest.raises(OperatorError, match=told):
        check(text)
