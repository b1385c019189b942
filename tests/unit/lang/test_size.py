"""Sizes of conditions, measured without recursion."""

import pytest

from tamis.errors import FilterError, LimitError
from tamis.lang.parse import parse
from tamis.lang.size import check_size, check_text, measure
from tamis.model.limits import Limits
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import And, Expression, Not


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("a = 1", (1, 1)),
        ("true", (1, 1)),
        ("not a = 1", (1, 2)),
        ("a = 1 and b = 1 and c = 1", (3, 2)),
        ("a = 1 and (b = 1 or not c = 1)", (3, 4)),
        ("f(1, 2, 3)", (1, 1)),
        ("?x > 1", (1, 1)),
        ("?x + 1 > 2 * (?y + 3)", (1, 3)),
    ],
)
def test_predicates_and_depth(text, size):
    assert measure(parse(text)) == size


def test_shared_parts_are_visited_once():
    node: Expression = Predicate("a", Op.EXISTS)
    for _ in range(200):
        node = And((node, node))
    assert measure(node) == (2**200, 201)


def test_depth_is_refused_before_anything_recurses():
    node: Expression = Predicate("a", Op.EXISTS)
    for _ in range(50_000):
        node = Not(node)
    with pytest.raises(LimitError, match="depth = 16 is exceeded: found 50,001"):
        check_size(node, Limits())
    while isinstance(node, Not):  # taken apart from the outside, so that freeing it does not nest
        node = node.child


def test_text_is_measured_in_bytes():
    assert check_text("é" * 5, Limits(filter_bytes=10)) == "é" * 5
    with pytest.raises(LimitError, match="filter_bytes = 10 is exceeded: found 12"):
        check_text("é" * 6, Limits(filter_bytes=10))
    with pytest.raises(FilterError, match="not bytes"):
        check_text(b"x", Limits())
