import numpy as np
import pytest
from tests.unit.engines.twostage_worlds import numeric_world

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.engines.registry import build_engine
from tamis.errors import EngineError
from tamis.model.event import Event
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal


@pytest.mark.parametrize("association", ["lists", "bitmatrix", "matrix"])
def test_more_predicates_than_a_byte_counts(association):
    """The 256th and later predicates are looked up instead of counted; none may be forgotten."""
    dictionary = Dictionary()
    wide = tuple(Literal(Predicate(f"x{i}", Op.EQ, (i,))) for i in range(600))
    table = encode_subscriptions([(0, (wide,)), (1, (wide[:255],)), (2, (wide[:256],))], dictionary)
    engine = build_engine("counting", table, {"association": association})
    event: Event = {f"x{i}": (i,) for i in range(600)}
    stream = [event, {**event, "x599": (0,)}, {**event, "x255": (0,)}, {**event, "x100": (0,)}]
    found = engine.match(encode_events(stream, dictionary))
    assert [sorted(found.of(i).tolist()) for i in range(4)] == [[0, 1, 2], [1, 2], [1], []]


@pytest.mark.parametrize("association", ["bitmatrix", "matrix"])
def test_a_matrix_that_would_not_fit_is_refused_and_leaves_the_engine_as_it_was(association):
    _, table, events = numeric_world(1, 3000)
    with pytest.raises(EngineError, match=r"needs [\d,]+ bytes, more than max_bytes=5,000; .*association='lists'"):
        build_engine("counting", table, {"association": association, "max_bytes": 5000})
    engine = build_engine("counting", table.take(np.arange(20)), {"association": association, "max_bytes": 5000})
    before = engine.match(events)
    with pytest.raises(EngineError):
        engine.insert(table.take(np.arange(20, 3000)))  # type: ignore[attr-defined]
    assert engine.match(events).equals(before)
    assert engine.stats().conjunctions == 20


def test_unknown_choices_are_refused_by_name():
    _, table, _ = numeric_world(1, 10)
    with pytest.raises(EngineError, match="association='list' is unknown; did you mean 'lists'"):
        build_engine("counting", table, {"association": "list"})
    with pytest.raises(EngineError, match="index='hash' is unknown"):
        build_engine("counting", table, {"index": "hash"})
