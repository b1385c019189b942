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

OPTIONS: dict[str, Any] = {"max_margin": 0.5, "min_power": 16.0, "min_benefit": 8.0, "refresh": 0, "effort": 0}


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
    with pytest.raises(EngineError, match="effort=-1 is negative"):
        DynamicOptions(effort=-1)


def hot_world(conjunctions=3000, attributes=6, domain=8):
    """Conjunctions, and events in which a0 is constant."""
    rng = np.random.default_rng(4)
    table = numeric_table(rng, Dictionary(), range(conjunctions), attributes, domain, sizes=(3, 4), equality=1.0)
    events = numeric_events(rng, 500, attributes, domain, presence=1.0)
    keys = events.keys.copy()
    keys[events.attrs == 0] = table.lo[table.attrs == 0][0]
    return table, replace(events, keys=keys)


def test_a_call_weighs_no_more_than_its_effort_and_one_access_predicate(monkeypatch):
    table, events = hot_world()
    engine, oracle = dynamic(table, effort=100), build_engine("scan", table).match(events)
    looks: list[int] = []
    look = engine.look

    def watched(entries):
        looks.append(look(entries))
        return looks[-1]

    monkeypatch.setattr(engine, "look", watched)
    assert engine.match(events).equals(oracle)
    engine.refresh()
    calls = 0
    while engine.unfinished:
        largest = int(engine.access.rows.max())
        assert sum(looks) <= 100 + largest
        looks.clear()
        assert engine.match(events).equals(oracle), "in the middle of everything"
        calls += 1
    assert calls > 3


def test_small_steps_lead_where_one_large_one_does():
    table, events = hot_world()
    at_once, bit_by_bit = dynamic(table), dynamic(table, effort=50)
    for engine in (at_once, bit_by_bit):
        engine.match(events)
        engine.refresh()
        for _ in range(2000):
            if not engine.unfinished:
                break
            engine.match(events.slice(0, 1))
    assert not bit_by_bit.unfinished
    assert schemas(at_once)
    assert bit_by_bit.expected_checks() == pytest.approx(at_once.expected_checks(), rel=0.15)


def test_a_table_that_is_being_dissolved_is_searched_until_it_is_empty():
    _, table, events = numeric_world(1, 3000, attributes=6, domain=8, sizes=(3, 4), equality=1.0)
    engine = dynamic(table, effort=1)
    before = schemas(engine)
    engine.remove(np.arange(2988, dtype=np.int32))
    assert engine.leaving
    oracle = build_engine("scan", table.take(np.arange(2988, 3000))).match(events)
    steps = 0
    while engine.unfinished:
        assert engine.match(events).equals(oracle)
        steps += 1
    assert steps > 3
    assert schemas(engine) < before
    assert engine.match(events).equals(oracle)


def test_the_least_likely_predicates_are_read_first():
    """In a cluster the columns ascend by chance, which is what the events have shown."""
    table, events = hot_world()
    engine = dynamic(table, max_attributes=1)
    engine.match(events)
    engine.refresh()
    engine.remove(table.owners)
    engine.insert(table)
    k, read = engine.clusters, 0
    for cluster in range(int(k.counts[0])):
        if k.block[cluster]:
            shape = (k.width[cluster] + 1, k.room[cluster])
            cells = k.cells[k.start[cluster] : k.start[cluster] + shape[0] * shape[1]].reshape(shape)
            chances = engine.chance[cells[:-1, : k.size[cluster]]]
            assert (np.diff(chances, axis=0) >= 0).all()
            read += chances.size
    assert read > 3000
