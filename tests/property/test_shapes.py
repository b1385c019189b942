"""The shape cache gives what parser, binding and normal form give, errors included."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies as own

from tamis.errors import TamisError
from tamis.lang.bind import bind
from tamis.lang.normalise import normalise
from tamis.lang.parse import parse
from tamis.lang.passes.implied import related, within
from tamis.lang.print import show
from tamis.lang.shapes import CONSTANT, ShapeCache, shape_of
from tamis.model.limits import Limits

LIMITS = Limits(filter_bytes=1 << 20, predicates=200, depth=30, terms=2000)
UNTYPED = ShapeCache(limits=LIMITS)
TYPED = [ShapeCache(type, LIMITS) for type in own.TYPES]

spellings = st.one_of(
    st.sampled_from(("0", "1", "2", "3.0", "1.0", "1e0", "9223372036854775807", "9223372036854775808", "1e999", "0.0")),
    st.sampled_from(("'a'", "'b'", "'A'", '"a"', "''", "'it''s'", '"\\u0061"', '"\\q"', "'['", "'1970-01-01'", "'é'")),
)


def outcome(read, *arguments):
    """The result, or the error's kind and text."""
    try:
        return read(*arguments)
    except TamisError as problem:
        return type(problem), str(problem)


def slowly(text, type=None):
    expression = parse(text, LIMITS)
    if type is not None:
        expression = bind(expression, type, LIMITS)
    return normalise(expression, type, LIMITS)


@st.composite
def respelt(draw, text):
    """The text with some constants replaced by others: of the same kind, of another, or at fault."""
    parts = CONSTANT.split(text)
    for i in range(1, len(parts), 2):
        if not parts[i].startswith("`") and draw(st.booleans()):
            parts[i] = draw(spellings)
    return "".join(parts)


NAMES = ("a", "b", "c.d", "`odd and name`", "and", "nocase", "mı\u017f\u017fıng", "a1")
constants = st.one_of(spellings, st.sampled_from(("-1", "- 2", "true", "'x and y'")))
predicates = st.one_of(
    st.tuples(
        st.sampled_from(NAMES), st.sampled_from((" = ", "<", " >=", " != ", " LIKE ", " starts  with ")), constants
    ),
    st.tuples(
        st.sampled_from(NAMES), st.sampled_from((" between ", " not Between ")), constants, st.just(" And "), constants
    ),
    st.tuples(st.sampled_from(NAMES), st.just(" in ("), constants, st.just(", "), constants, st.just(")")),
    st.tuples(st.sampled_from(("exists(", "missing( ")), st.sampled_from(NAMES), st.just(")")),
    st.tuples(st.sampled_from(("not ", "(", "true or ")), st.sampled_from(NAMES), st.just(" = "), constants),
    st.tuples(st.sampled_from(NAMES), st.just(" = true or "), st.sampled_from(NAMES), st.just(" = true")),
    st.tuples(st.sampled_from(NAMES), st.just(" = 1)")),
).map("".join)


@settings(max_examples=400)
@given(st.lists(predicates, min_size=1, max_size=4), st.sampled_from((" and ", " AND\n", ") and (", " or ")))
def test_conjunctions_put_together_from_their_predicates(parts, joint):
    text = joint.join(parts)
    for cache in (UNTYPED, ShapeCache(limits=LIMITS)):
        assert outcome(cache.normalise, text) == outcome(slowly, text), text


@settings(max_examples=400)
@given(st.data())
def test_untyped_filters(data):
    text = show(data.draw(own.all_expressions))
    for variant in (text, *data.draw(st.lists(respelt(text), min_size=3, max_size=3))):
        assert outcome(UNTYPED.normalise, variant) == outcome(slowly, variant), variant


@settings(max_examples=400)
@given(st.data())
def test_typed_filters(data):
    cache = data.draw(st.sampled_from(TYPED))
    text = show(data.draw(own.typed_expressions(cache.type)))
    for variant in (text, *data.draw(st.lists(respelt(text), min_size=3, max_size=3))):
        assert outcome(cache.normalise, variant) == outcome(slowly, variant, cache.type), variant


RANGES = {None: ShapeCache(limits=LIMITS), own.ORDERED: ShapeCache(own.ORDERED, LIMITS)}


@settings(max_examples=600)
@given(own.bounds_on_one_attribute())
def test_bounds_on_one_attribute(text):
    for type, cache in RANGES.items():
        assert outcome(cache.normalise, text) == outcome(slowly, text, type), text


@settings(max_examples=200)
@given(own.all_expressions)
def test_a_shape_is_a_filter_without_its_constants(expression):
    text = show(expression).replace(
        "9223372036854775808", "9223372036854775807"
    )  # the sign is not part of the constant
    key, constants = shape_of(text)
    blank_key, blanks = shape_of(key)
    assert blank_key == key
    assert [isinstance(blank, str) for blank in blanks] == [isinstance(constant, str) for constant in constants]


@settings(max_examples=500)
@given(own.predicates(st.just("a")), own.predicates(st.just("a")))
def test_whatever_implies_another_for_some_constants_is_related(one, other):
    if one != other and within(one, other):
        assert related(one, other)
