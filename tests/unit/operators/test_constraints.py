import pytest

from tamis.lang import parse
from tamis.model.predicate import Constraint
from tamis.operators.constraints import constant_zero_division, constraint_holds


def holds(text: str, **values):
    constraint = parse(text)
    assert isinstance(constraint, Constraint)
    return constraint_holds(constraint, values)


@pytest.mark.parametrize(
    ("text", "values", "outcome"),
    [
        ("?y > 2 * ?z", {"y": 5, "z": 2}, True),
        ("?y > 2 * ?z", {"y": 4, "z": 2}, False),
        ("?x = 9007199254740993", {"x": 9007199254740993}, True),
        ("?x + 1 = 9007199254740994", {"x": 9007199254740993}, True),
        ("?x / 2 = 4503599627370497", {"x": 9007199254740994}, True),
        ("?x / 2 = 1.5", {"x": 3}, True),
        ("?x - 1 < 0", {"x": 0.5}, True),
        ("?x = 'Bronx'", {"x": "Bronx"}, True),
        ("?x = 1", {"x": True}, False),
        ("?x != 'a'", {"x": 1}, True),
        ("?x / ?y > 1", {"x": 1, "y": 0}, None),
        ("?x + 1 > 0", {"x": "a"}, None),
        ("?x + 1 > 0", {"x": True}, None),
        ("?x * 1e308 > 0", {"x": 10.0}, None),
    ],
)
def test_meaning(text, values, outcome):
    assert holds(text, **values) is outcome


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("?x > 1 / 0", True),
        ("?x > 1 / (2 - 2)", True),
        ("?x / 0 > 1", True),
        ("?x > 1 / ?y", False),
        ("?x > 4 / 2", False),
    ],
)
def test_division_by_a_constant_zero_is_seen_beforehand(text, refused):
    constraint = parse(text)
    assert isinstance(constraint, Constraint)
    assert (constant_zero_division(constraint.left) or constant_zero_division(constraint.right)) is refused
