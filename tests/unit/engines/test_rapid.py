"""RAPIDMatch on the paper's own workload: k = 100 binary properties, both event models, held against `scan`."""

import pytest

from tamis.encoding.bulk_events import encode_long
from tamis.encoding.bulk_subscriptions import encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.engines.rapid import RapidOptions
from tamis.engines.registry import build_engine
from tamis.errors import EngineError
from tamis.workloads import rapid

MODELS = [rapid.light_events(60, 5, alpha=a) for a in (1, 2, 4)]
MODELS += [rapid.exponential_events(60, 5, p=p) for p in (0.01, 0.1, 0.3)]


@pytest.mark.parametrize(("name", "options"), [("tree", {}), ("rapid", {}), ("rapid", {"light": 3})])
def test_binary_workload_is_exact_and_native(name, options):
    dictionary = Dictionary()
    table = encode_predicates(rapid.subscriptions(2000, 5), dictionary)
    oracle, engine = build_engine("scan", table), build_engine(name, table, options)
    for events in MODELS:
        batch = encode_long(events, dictionary)[0].strict()
        assert engine.match(batch).equals(oracle.match(batch))
    stats = engine.stats()
    assert stats.candidates == stats.matches > 0  # presence decides: nothing reached is in vain


def test_light_events_visit_fewer_nodes_than_in_the_plain_tree():
    dictionary = Dictionary()
    table = encode_predicates(rapid.subscriptions(3000, 6), dictionary)
    batch = encode_long(rapid.light_events(50, 6, alpha=3), dictionary)[0].strict()
    visited = []
    for name in ("tree", "rapid"):
        engine = build_engine(name, table)
        engine.match(batch)
        visited.append(engine.stats().details["nodes_visited"])
    assert visited[1] < visited[0] / 2


def test_refuses_senseless_numbers_of_trees():
    with pytest.raises(EngineError, match=r"light = 65 is outside 0\.\.64"):
        RapidOptions(light=65)
