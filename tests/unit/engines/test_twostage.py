"""What all two-stage engines promise beyond the contract: recycled memory, stages apart, honest counters."""

from typing import Any

import numpy as np
import pytest
from tests.unit.engines.twostage_worlds import numeric_table, numeric_world

from tamis.engines.registry import build_engine
from tamis.engines.twostage import TwoStage

ENGINES: list[tuple[str, dict[str, Any]]] = [
    ("counting", {"association": "lists"}),
    ("counting", {"association": "bitmatrix"}),
    ("counting", {"association": "matrix"}),
    ("propagation", {}),
    ("static", {}),
    ("dynamic", {"max_margin": 0.2, "min_power": 4.0, "min_benefit": 2.0, "refresh": 0}),
]


@pytest.mark.parametrize(("name", "options"), ENGINES)
def test_delete_everything_and_insert_again_takes_the_same_memory_without_holes(name, options):
    _, table, events = numeric_world(3, 2000)
    engine = build_engine(name, table, options)
    assert isinstance(engine, TwoStage)
    before, matches = engine.stats().bytes_held, engine.match(events)
    predicates, conjunctions = engine.stage.registry.made, engine.store.made
    for _ in range(3):
        engine.remove(table.owners)
        assert len(engine.stage.registry) == len(engine.store) == 0
        assert len(engine.match(events).ids) == 0
        engine.insert(table)
        assert engine.match(events).equals(matches)
        assert (engine.stage.registry.made, engine.store.made) == (predicates, conjunctions)
    assert engine.stats().bytes_held <= 1.05 * before


@pytest.mark.parametrize(("name", "options"), ENGINES)
@pytest.mark.parametrize("index", ["table", "list", "sorted"])
def test_equals_scan_through_churn_at_size(name, options, index):
    rng, table, events = numeric_world(5, 3000)
    engine, oracle = build_engine(name, table, {**options, "index": index}), build_engine("scan", table)
    assert isinstance(engine, TwoStage)
    for _ in range(4):
        assert engine.match(events).equals(oracle.match(events))
        gone = rng.choice(3000, 700, replace=False).astype(np.int32)
        fresh = numeric_table(rng, table.dictionary, gone, 8, 12)
        for each in (engine, oracle):
            each.remove(gone)  # type: ignore[attr-defined]
            each.insert(fresh)  # type: ignore[attr-defined]
    assert engine.match(events).equals(oracle.match(events))


def test_stage_one_can_be_run_alone_and_changes_nothing():
    _, table, events = numeric_world(6, 500)
    for name, options in ENGINES:
        engine = build_engine(name, table, options)
        assert isinstance(engine, TwoStage)
        before = engine.match(events)
        satisfied = engine.first_stage(events)
        assert satisfied == engine.stage.frequencies(events).sum() > 0
        assert engine.match(events).equals(before)
        assert engine.stats().details["predicates tested"] >= satisfied
