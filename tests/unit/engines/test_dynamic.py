"""Tables come when margins rise, go when their benefit falls, and follow the events."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.engines.twostage_worlds import numeric_events, numeric_table, numeric_world

from tamis.encoding.dictionary import Dictionary
from tamis.engines.dynamic import DynamicEngine, DynamicOptions
from tamis.engines.registry import build_engine
from tamis.errors import EngineError

OPTIONS: dict[str, Any] = {"max_margin": 0.5, "min_power": 16.0, "min_benefit": 8.0, "refresh": 0}


def dynamic(table, **options):
    return DynamicEngine.build(table, DynamicOptions(**{**OPTIONS, **options}))


def schemas(engine):
    return {tuple(schema) for schema in engine.stats().details["schemas"]}


def test_growth_makes_tables_and_lowers_the_checks():
    _, table, events = numeric_world(1, 6000, attributes=6, domain=8, sizes=(3, 4), equality=1.0)
    engine, single = dynamic(table), dynamic(table, max_attributes=1)
    assert schemas(engine)
    assert not schemas(single)
    assert engine.match(events).equals(single.match(events))
    assert engine.candidates < 0.5 * single.candidates
    assert engine.moved > 0


def test_removal_dissolves_tables_and_returns_their_memory():
    _, table, events = numeric_world(1, 6000, attributes=6, domain=8, sizes=(3, 4), equality=1.0)
    engine = dynamic(table)
    tables = len(schemas(engine))
    engine.remove(np.arange(5990, dtype=np.int32))
    assert engine.dissolved == tables > 0
    assert not schemas(engine)
    oracle = build_engine("scan", table.take(np.arange(5990, 6000)))
    assert engine.match(events).equals(oracle.match(events))


def test_new_schemas_replace_old_ones():
    rng, first, _ = numeric_world(1, 4000, attributes=4, domain=8, sizes=(2, 3), equality=1.0)
    engine = dynamic(first)
    before = schemas(engine)
    shifted = numeric_table(rng, first.dictionary, range(4000), 4, 8, sizes=(2, 3), equality=1.0)
    for i in range(4, 8):
        first.dictionary.attribute(f"a{i}")
    shifted = replace(shifted, attrs=shifted.attrs + 4)
    for start in range(0, 4000, 500):
        rows = np.arange(start, start + 500)
        engine.remove(rows.astype(np.int32))
        engine.insert(shifted.take(rows))
    assert before
    assert schemas(engine)
    assert not before & schemas(engine)
    events = numeric_events(rng, 60, 8, 8)
    assert engine.match(events).equals(build_engine("scan", shifted).match(events))


def test_new_statistics_change_the_choice():
    """Once a0 turns out to be constant in events, access predicates on a0 alone have a high margin and are left."""
    rng = np.random.default_rng(4)
    table = numeric_table(rng, Dictionary(), range(3000), 5, 10, sizes=(3, 4), equality=1.0)
    engine = dynamic(table, max_attributes=2)
    events = numeric_events(rng, 2000, 5, 10, presence=1.0)
    keys = events.keys.copy()
    keys[events.attrs == 0] = table.lo[table.attrs == 0][0]
    hot = replace(events, keys=keys)
    matches = engine.match(hot)
    checked = engine.candidates
    engine.refresh()
    again = engine.match(hot)
    assert again.equals(matches)
    assert engine.candidates - checked < checked
    assert matches.equals(build_engine("scan", table).match(hot))


def test_statistics_are_taken_up_after_so_many_events():
    _, table, events = numeric_world(1, 200)
    engine = dynamic(table, refresh=100)
    versions = []
    for _ in range(5):
        engine.match(events)
        versions.append(engine.version)
    assert versions[-1] > versions[0]


def test_thresholds_that_would_thrash_are_refused():
    with pytest.raises(EngineError, match="min_benefit above min_power"):
        DynamicOptions(min_power=1.0, min_benefit=2.0)
