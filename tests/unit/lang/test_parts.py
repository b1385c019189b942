"""Where the shape of a conjunction is cut, and that a conjunction is read without a template until its shape comes often."""

import pytest

from tamis.errors import LimitError
from tamis.lang.normalise import normalise
from tamis.lang.parse import parse
from tamis.lang.parts import AND, form_of
from tamis.lang.shapes import OFTEN, ShapeCache
from tamis.model.limits import Limits


@pytest.mark.parametrize(
    ("shape", "parts"),
    [
        ("a = 0", [("x = 0", "a")]),
        ("a=0 and b between 0 and -0 AND c.d in (0, '')", [("x=0", "a"), ("x between 0 and -0", "b"), ("x in (0, '')", "c.d")]),
        ("a BETWEEN -0 AND 0 and b not between '' and ''", [("x BETWEEN -0 AND 0", "a"), ("x not between '' and ''", "b")]),
        ("exists(a) and not b = 0", [("exists(a)", None), ("not b = 0", None)]),
        ("land = 0 and android = 0", [("x = 0", "land"), ("x = 0", "android")]),
        ("`a` = 0 and ü = 0", [("`a` = 0", None), ("ü = 0", None)]),
    ],
)  # fmt: skip
def test_parts(shape, parts):
    assert [form_of(part) for part in AND.split(shape)] == parts


def test_few_templates_serve_conjunctions_of_all_attributes():
    cache = ShapeCache()
    for i in range(100):
        text = f"a{i} = {i} and b{i} between 1 and 2 and c{i} > 3"
        assert cache.normalise(text) == normalise(parse(text))
    assert cache.template.cache_info().misses == 3


def test_a_shape_that_comes_often_gets_a_template():
    cache = ShapeCache()
    for i in range(OFTEN + 2):
        text = f"a = {i} and b < {i} and a > 3"
        assert cache.normalise(text) == normalise(parse(text))
    assert cache.template.cache_info().misses == 4


def test_limits_hold():
    text = " and ".join(f"a{i} = 1" for i in range(6))
    for _ in range(2):
        with pytest.raises(LimitError, match="predicates = 5"):
            ShapeCache(limits=Limits(predicates=5)).normalise(text)
        with pytest.raises(LimitError, match="depth = 1"):
            ShapeCache(limits=Limits(depth=1)).normalise(text)
