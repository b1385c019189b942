"""The generators of the partitioning papers: their parameters, and that a seed fixes them."""

import numpy as np
import pytest

from tamis.encoding.bulk_events import encode_long
from tamis.encoding.bulk_subscriptions import encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.engines.registry import build_engine
from tamis.workloads import pubsub, rapid


def test_binary_subscriptions_have_the_asked_shares():
    table = rapid.subscriptions(4000, 1)
    operators = table.column("operator").to_pylist()
    assert operators.count("exists") == pytest.approx(20_000, rel=0.05)
    assert operators.count("missing") == pytest.approx(20_000, rel=0.05)
    assert len(set(table.column("subscription").to_pylist())) == 4000
    assert table.equals(rapid.subscriptions(4000, 1))


def test_event_sizes():
    light = np.bincount(rapid.light_events(4000, 2, alpha=2.0).column("event").to_numpy())
    assert (light == 1).mean() == pytest.approx(1 / 1.635, abs=0.03)
    assert light.mean() == pytest.approx(3.17, rel=0.15)
    dense = np.bincount(rapid.exponential_events(2000, 2, p=0.1).column("event").to_numpy())
    assert dense.mean() == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("skew", [0.0, 1.0])
def test_begen_like_parameters(skew):
    shape = pubsub.Shape(skew=skew)
    given = pubsub.subscriptions(5000, 3, shape)
    assert given.equals(pubsub.subscriptions(5000, 3, shape))
    sizes = np.bincount(given.column("subscription").to_numpy())
    assert sizes.mean() == pytest.approx(7, rel=0.03)
    assert given.column("operator").to_pylist().count("=") / len(given) == pytest.approx(0.3, abs=0.02)
    dictionary = Dictionary()
    engine = build_engine("scan", encode_predicates(given, dictionary))
    encoded, _ = encode_long(pubsub.events(40, 3, shape), dictionary)
    assert np.diff(encoded.batch.offsets).mean() == pytest.approx(15, rel=0.1)
    found = np.diff(engine.match(encoded.batch).offsets)
    assert found.mean() / 5000 == pytest.approx(0.01, rel=0.35)
