from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies as own

from tamis.lang.bind import bind
from tamis.lang.normalise import normalise
from tamis.lang.parse import parse
from tamis.lang.print import as_expression, show, show_dnf
from tamis.model.evaluate import matches, matches_dnf
from tamis.model.limits import Limits

GENEROUS = Limits(filter_bytes=1 << 20, predicates=1000, depth=100, terms=10_000)


@settings(max_examples=1000)
@given(own.all_expressions)
def test_parsing_what_is_shown_gives_the_same_condition(expression):
    assert parse(show(expression), GENEROUS) == expression


@settings(max_examples=1000)
@given(st.data())
def test_the_normal_form_matches_the_same_events(data):
    expression = data.draw(own.expressions)
    event = data.draw(st.one_of(own.events, own.related_events(expression)))
    assert matches(expression, event) == matches_dnf(normalise(expression, limits=GENEROUS), event)


@settings(max_examples=1000)
@given(own.tiny_expressions, st.lists(own.tiny_events, min_size=4, max_size=4))
def test_the_normal_form_of_entangled_predicates_matches_the_same_events(expression, events):
    dnf = normalise(expression, limits=GENEROUS)
    for event in events:
        assert matches(expression, event) == matches_dnf(dnf, event)


@settings(max_examples=1000)
@given(st.data())
def test_the_typed_normal_form_matches_the_same_events_of_its_type(data):
    type = data.draw(own.publication_types)
    expression = data.draw(own.typed_expressions(type))
    bound = bind(expression, type, GENEROUS)
    dnf = normalise(bound, type, GENEROUS)
    for _ in range(3):
        event = data.draw(own.typed_events(type))
        assert matches(bound, event) == matches_dnf(dnf, event)


@settings(max_examples=300)
@given(own.expressions)
def test_a_normal_form_shown_and_parsed_is_normal(expression):
    dnf = normalise(expression, limits=GENEROUS)
    assert parse(show_dnf(dnf), GENEROUS) == as_expression(dnf)


@settings(max_examples=500)
@given(own.bounds_on_one_attribute())
def test_bounds_that_meet_keep_their_meaning(text):
    bound = bind(parse(text), own.ORDERED)
    typed, untyped = normalise(bound, own.ORDERED), normalise(bound)
    for event in own.ordered_events():
        assert matches_dnf(typed, event) == matches_dnf(untyped, event) == matches(bound, event), event
