"""Siena: constraints are shared and counted once, and it says that it is built whole."""

import numpy as np

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.engines.base import Options
from tamis.engines.siena import SienaEngine
from tamis.model.event import Event
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal


def ask(*predicates):
    return (tuple(Literal(p) for p in predicates),)


def test_constraints_are_shared_and_repetitions_count_once():
    dictionary = Dictionary()
    small, wide = Predicate("a", Op.EQ, (1,)), Predicate("b", Op.BETWEEN, (0, 9))
    population = [ask(small, wide), ask(small, small), ask(wide, Predicate("c", Op.MISSING)), ask()]
    engine = SienaEngine.build(encode_subscriptions(enumerate(population), dictionary), Options())
    assert engine.stats().details["constraints"] == 2
    assert engine.constraints.needed.tolist() == [2, 1, 1, 0]
    events: list[Event] = [{"a": (1,), "b": (5,)}, {"b": (5, 6)}, {"b": (5,), "c": (0,)}, {}]
    found = engine.match(encode_events(events, dictionary))
    assert [sorted(found.of(i).tolist()) for i in range(4)] == [[0, 1, 2, 3], [2, 3], [3], [3]]


def test_attributes_named_later_are_passed_over():
    dictionary = Dictionary()
    engine = SienaEngine.build(encode_subscriptions([(0, ask(Predicate("a", Op.EQ, (1,))))], dictionary), Options())
    dictionary.attribute("later")
    found = engine.match(encode_events([{"a": (1,), "later": (1,)}], dictionary))
    assert found.ids.tolist() == [0]


def test_it_says_that_it_is_built_whole():
    assert not SienaEngine.capabilities.incremental
    assert not hasattr(SienaEngine, "insert")
    assert np.issubdtype(
        SienaEngine.build(encode_subscriptions([], Dictionary()), Options()).constraints.lo.dtype, np.int64
    )
