"""Keys over three attributes: the choice beside a naive twin, and an engine that uses them beside the oracle."""

from dataclasses import replace
from itertools import combinations, groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.engines.test_tamis import dictionary, random_events, random_table

from tamis.candidates.keyed.choose import MASK
from tamis.candidates.keyed.coded import code_table
from tamis.candidates.keyed.schemas import is_point
from tamis.candidates.keyed.single import WIDE
from tamis.candidates.keyed.triples import COMPANY, SETS, file_sets, group_of
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import number_keys
from tamis.encoding.subscriptions import MISSING, SubscriptionTable
from tamis.engines.scan import ScanEngine
from tamis.engines.tamis import TamisEngine, TamisOptions
from tamis.predicates.ranks import rank_table

ATTRIBUTES, VALUES = 40, 100


def ranges(rng, count, width=6, attributes=ATTRIBUTES, first=0, names=None) -> SubscriptionTable:
    """Conjunctions of ranges of `width` different attributes, each of about half of all values."""
    attrs = rng.random((count, attributes)).argsort(axis=1)[:, :width].astype(np.int32)
    low = rng.integers(0, VALUES // 2, attrs.size)
    lo, hi = number_keys(low), number_keys(low + VALUES // 2)
    owners, offsets = np.arange(first, first + count, dtype=np.int32), np.arange(count + 1) * width
    ops, sets = np.zeros(attrs.size, np.uint8), np.zeros(0, np.int64)
    return SubscriptionTable(owners, offsets, attrs.ravel(), ops, lo, hi, sets, names or dictionary(attributes))


def events_of(rng, count, width, attributes=ATTRIBUTES, several=1) -> EventBatch:
    """Events with `several` values of `width` attributes each."""
    attrs = rng.random((count, attributes)).argsort(axis=1)[:, :width]
    attrs = np.repeat(np.sort(attrs, axis=1), several, axis=1).ravel()
    keys = number_keys(rng.integers(0, VALUES, len(attrs)))
    return from_pairs(count, np.repeat(np.arange(count), width * several), attrs, keys, np.full(len(attrs), -1))


def coded_of(table):
    ranks, codes = rank_table(table)
    return code_table(table, ranks, codes), len(ranks.attrs)


@pytest.mark.parametrize(("members", "groups"), SETS)
def test_conjunctions_go_under_their_least_likely_set(members, groups):
    rng = np.random.default_rng(groups)
    coded, slots = coded_of(random_table(rng, 300, dictionary(), width=9))
    presence, cost = rng.random(slots), 2 * rng.random(len(coded.owners))
    given_cost, by_value = cost.copy(), rng.random(len(cost)) < 0.3
    limit = np.where(by_value, cost / COMPANY, cost)
    first, second, third = (np.full(len(cost), -1, np.int32) for _ in range(3))
    filed = file_sets(coded, presence, members, groups, by_value, cost, first, second, third)
    for c in range(len(cost)):
        some = range(coded.offsets[c], coded.offsets[c + 1])
        usable = [p for p in some if coded.ops[p] != MISSING and not (members == 2 and is_point(coded, p))]
        present = sorted({int(coded.slots[p]) for p in usable})
        ways = [t for t in combinations(present, members) if len({group_of(s, groups) for s in t}) == 1]
        best = min((float(np.prod(presence[list(t)])) for t in ways), default=2.0)
        assert filed[c] == (best < limit[c])
        assert np.isclose(cost[c], best if filed[c] else given_cost[c])
        if filed[c]:
            chosen = coded.slots[[first[c], second[c], third[c]][:members]]
            assert tuple(sorted(chosen.tolist())) in ways
            assert np.isclose(float(np.prod(presence[chosen])), best)
            assert all(p in usable for p in (first[c], second[c], third[c])[:members])
        else:
            assert first[c] == second[c] == third[c] == -1
    assert filed[by_value].any()
    assert filed[~by_value].any()


@pytest.mark.parametrize(("members", "groups"), SETS)
def test_whatever_has_enough_attributes_has_a_set(members, groups):
    coded, slots = coded_of(ranges(np.random.default_rng(groups), 2000, width=(members - 1) * groups + 1))
    columns = [np.full(len(coded.owners), -1, np.int32) for _ in range(3)]
    cost, by_value = np.ones(len(coded.owners)), np.zeros(len(coded.owners), np.bool_)
    assert file_sets(coded, np.full(slots, 0.1), members, groups, by_value, cost, *columns).all()


@pytest.mark.parametrize("look_up_ns", [0.0, 0.5])
def test_an_engine_with_triples_equals_scan(look_up_ns, tmp_path):
    rng = np.random.default_rng(3)
    names = dictionary(ATTRIBUTES)
    mixed = random_table(rng, 1000, names, 8000, 8, ATTRIBUTES, VALUES)
    table = SubscriptionTable.concat([ranges(rng, 8000, names=names), mixed])
    options = TamisOptions(merge="never", look_up_ns=look_up_ns)
    engine, oracle = TamisEngine.build(table, options), ScanEngine(table)
    details = engine.stats().details
    assert details["keys"]["triple"] > 7000
    batches = [events_of(rng, 100, 15), events_of(rng, 10, 8, several=3), random_events(rng, 100, ATTRIBUTES, VALUES)]
    for batch in batches:
        assert engine.match(batch).equals(oracle.match(batch))
    assert len(engine.match(batches[0]).ids) > 1000
    for e in range(30):
        one = batches[0].slice(e, e + 1)
        assert engine.match(one).equals(oracle.match(one))
        alone = engine.match_single(([], one.keys.tolist(), one.attrs.tolist()))
        assert alone is not None
        assert sorted(alone) == sorted(oracle.match(one).ids)
    engine.save(tmp_path / "index")
    opened = TamisEngine.open(tmp_path / "index", options)
    assert opened.stats().details["keys"] == details["keys"]
    fresh, gone = ranges(rng, 500, first=20_000, names=names), np.arange(0, 9000, 3, dtype=np.int32)
    for changed in (opened, oracle):
        changed.remove(gone)
        changed.insert(fresh)
    for _ in range(2):
        for batch in batches:
            assert opened.match(batch).equals(oracle.match(batch))
        opened.merge()
    assert opened.stats().details["keys"]["triple"] > 4000


@pytest.mark.parametrize("several", [1, 2])
@pytest.mark.parametrize("width", [WIDE - 1, WIDE + 1, 256])
def test_events_with_very_many_attributes(width, several):
    """There are up to 2.7 million triples of them; where these outnumber the clusters, all of these are read instead."""
    rng = np.random.default_rng(width)
    table = ranges(rng, 3000, width=7, attributes=300)
    engine, oracle = TamisEngine.build(table, TamisOptions(look_up_ns=1e-3)), ScanEngine(table)
    assert engine.stats().details["keys"]["triple"] == 3000
    events = events_of(rng, 3, width, attributes=300, several=several)
    assert engine.match(events).equals(oracle.match(events))
    one = events.slice(0, 1)
    assert engine.match(one).equals(oracle.match(one))
    found = engine.match_single(([], one.keys.tolist(), one.attrs.tolist())) if several == 1 else None
    assert (found is None) == (several > 1 or width > WIDE)
    assert found is None or sorted(found) == sorted(oracle.match(one).ids)


def test_triples_are_used_where_they_pay():
    """They meet fewer candidates than pairs do, and where looking up is dear, or there is little to gain, there are none."""
    rng = np.random.default_rng(5)
    table, events = ranges(rng, 60_000, attributes=200), events_of(rng, 200, 15, attributes=200)
    told = {}
    for look_up_ns in (1e-3, 10.0, 1e6):
        engine = TamisEngine.build(table, TamisOptions(merge="never", look_up_ns=look_up_ns, sample=events))
        found = engine.match(events)
        told[look_up_ns] = engine.stats()
        assert found.equals(ScanEngine(table).match(events))
    kinds = {price: stats.details["keys"] for price, stats in told.items()}
    assert kinds[1e-3]["triple"] == kinds[10.0]["triple"] == 60_000
    assert kinds[1e6]["triple"] == kinds[1e6]["pair"] == 0
    assert max(told[1e-3].candidates, told[10.0].candidates) < told[1e6].candidates / 20
    details = told[10.0].details  # hashes that fall into one cluster make them more than expected
    assert details["expected_candidates"] <= details["candidates_per_event"] < 3 * details["expected_candidates"]
    few = TamisEngine.build(table.take(np.arange(300)), TamisOptions(sample=events))
    assert few.stats().details["keys"]["triple"] == 0


def test_conjunctions_that_are_alike_stay_together():
    """The same attributes again and again: under triples they would be fewer to a cluster than under what more of them share."""
    rng = np.random.default_rng(7)
    table, events = ranges(rng, 60, attributes=200), events_of(rng, 50, 15, attributes=200)
    table = table.take(np.arange(60_000) % 60)
    table = replace(table, owners=np.arange(60_000, dtype=np.int32))
    engine = TamisEngine.build(table, TamisOptions(merge="never"))
    assert engine.stats().details["keys"]["triple"] == 0
    assert engine.stats().details["blocks"] > 1000
    assert engine.match(events).equals(ScanEngine(table).match(events))


@pytest.mark.parametrize("count", [4000, 60_000])
def test_pairs_within_a_group_equal_scan(count, monkeypatch):
    """A few thousand conjunctions of ranges are worth a quarter of the pairs of attributes, and nothing is missed."""
    rng = np.random.default_rng(6)
    names = dictionary(200)
    mixed = random_table(rng, 1000, names, count, 8, 200, VALUES)
    table = SubscriptionTable.concat([ranges(rng, count, attributes=200, names=names), mixed])
    monkeypatch.setattr("tamis.candidates.keyed.best.SETS", SETS[:2])
    engine, oracle = TamisEngine.build(table, TamisOptions(merge="never")), ScanEngine(table)
    assert engine.stats().details["keys"]["pair"] > 0.9 * count
    assert engine.state.base.built.arrays.keys.plan[2] >> MASK == 3
    for events in (
        events_of(rng, 100, 15, attributes=200),
        events_of(rng, 10, 8, attributes=200, several=3),
        random_events(rng, 100, 200, VALUES),
        events_of(rng, 3, 150, attributes=200),
    ):
        assert engine.match(events).equals(oracle.match(events))
    assert len(engine.match(events).ids) > 100


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["insert", "remove", "merge", "save"]), max_size=6), st.integers(0, 2**32 - 1))
def test_any_changes_equal_scan(tmp_path_factory, steps, seed):
    rng, names = np.random.default_rng(seed), dictionary()
    table = ranges(rng, 200, 5, 12, names=names)
    options = TamisOptions(merge="never", look_up_ns=0.0)
    engine, oracle = TamisEngine.build(table, options), ScanEngine(table)
    assert engine.stats().details["keys"]["triple"] > 100
    for number, step in enumerate(steps, 1):
        if step == "insert":
            fresh = ranges(rng, 40, int(rng.integers(1, 7)), 12, first=1000 * number, names=names)
            for each in (engine, oracle):
                each.insert(replace(fresh, dictionary=names))
        elif step == "remove":
            gone = rng.integers(0, 1000 * number, 60).astype(np.int32)
            for each in (engine, oracle):
                each.remove(gone)
        elif step == "merge":
            engine.merge()
        else:
            path = tmp_path_factory.mktemp("triples") / "index"
            engine.save(path)
            engine = TamisEngine.open(path, options)
    for events in (events_of(rng, 30, 8, 12), events_of(rng, 10, 6, 12, several=2)):
        found = engine.match(events)
        assert found.equals(oracle.match(events))
        assert all(len(list(same)) == 1 for e in range(len(events)) for _, same in groupby(sorted(found.of(e))))
