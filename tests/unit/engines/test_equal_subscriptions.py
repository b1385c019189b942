"""Very many equal subscriptions: nothing can tell them apart, so they share one place, and every change must stay cheap."""

import numpy as np
import pytest

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.engines.base import make_options
from tamis.engines.rebuild import updatable
from tamis.engines.registry import engine_class
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal

MANY = 40_000
ENGINES = {
    "tree": ("nodes", 2),
    "rapid": ("nodes", 80),
    "pubsub": ("largest_bucket", MANY),
    "betree": ("nodes", 40),
    "siena": ("constraints", 2),
}


@pytest.mark.parametrize("name", ENGINES)
def test_equal_subscriptions_share_one_place(name):
    dictionary = Dictionary()
    asked = (Literal(Predicate("x", Op.BETWEEN, (1, 2))), Literal(Predicate("y", Op.EQ, (3,))))
    one = encode_subscriptions([(0, (asked,))], dictionary)

    def equal(ids):
        table = one.take(np.zeros(len(ids), np.int64))
        table.owners[:] = ids
        return table

    kind = engine_class(name)
    engine = updatable(kind, equal(np.arange(MANY)), make_options(kind.options_type, name, {}))
    batch = encode_events([{"x": (1,), "y": (3,)}, {"x": (1,), "y": (5,)}, {"y": (3,)}], dictionary)

    def matched():
        found = engine.match(batch)
        assert np.diff(found.offsets)[1:].tolist() == [0, 0]
        return set(found.ids.tolist())

    assert matched() == set(range(MANY))
    stats = engine.stats()
    size, most = ENGINES[name]
    assert stats.details[size] <= most
    assert stats.bytes_held < 1500 * MANY
    engine.remove(np.arange(0, MANY, 2, dtype=np.int32))
    assert matched() == set(range(1, MANY, 2))
    for i in range(0, 40, 2):
        engine.insert(equal([i]))
        engine.remove(np.array([i + 1], np.int32))
    assert matched() == {*range(0, 40, 2), *range(41, MANY, 2)}
    engine.insert(equal(np.arange(40, MANY, 2)))
    engine.remove(np.arange(MANY, dtype=np.int32))
    assert matched() == set()
    engine.insert(equal([7]))
    assert matched() == {7}
