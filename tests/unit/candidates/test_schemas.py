"""Keys over several equalities: every kernel beside a naive twin, and an engine that uses them beside the oracle."""

from dataclasses import replace
from itertools import combinations as subsets

import numpy as np
import pytest
from tests.unit.engines.test_tamis import dictionary, random_events, random_table

from tamis.candidates.keyed.coded import code_table
from tamis.candidates.keyed.schemas import (
    FEWEST,
    WIDEST,
    best_schemas,
    by_lead,
    combinations,
    file_under,
    select,
    value_hash,
)
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import number_keys
from tamis.encoding.subscriptions import ALL, IN, SubscriptionTable
from tamis.engines.scan import ScanEngine
from tamis.engines.tamis import TamisEngine, TamisOptions
from tamis.predicates.ranks import rank_table

ATTRIBUTES = 12


def equalities(rng, count, attributes=ATTRIBUTES, fixed=2, width=5, values=10) -> SubscriptionTable:
    """Conjunctions of `width` equalities: on the first `fixed` attributes, and on others at random."""
    others = rng.random((count, attributes - fixed)).argsort(axis=1)[:, : width - fixed] + fixed
    attrs = np.concatenate([np.tile(np.arange(fixed), (count, 1)), others], axis=1).astype(np.int32)
    keys = number_keys(rng.integers(0, values, attrs.size))
    ops = np.where(rng.random(attrs.size) < 0.1, ALL, IN).astype(np.uint8)
    owners, offsets = np.arange(count, dtype=np.int32), np.arange(count + 1) * width
    names = dictionary(attributes)
    return SubscriptionTable(owners, offsets, attrs.ravel(), ops, keys, keys.copy(), np.zeros(0, np.int64), names)


def full_events(rng, count, attributes=ATTRIBUTES, values=10, several=1) -> EventBatch:
    """Events with `several` values of every attribute."""
    attrs = np.tile(np.repeat(np.arange(attributes), several), count).astype(np.int32)
    keys = number_keys(rng.integers(0, values, len(attrs)))
    return from_pairs(count, np.repeat(np.arange(count), attributes * several), attrs, keys, np.full(len(attrs), -1))


def coded_world(rng, count=200):
    table = random_table(rng, count, dictionary(), width=9)
    ranks, codes = rank_table(table)
    coded = code_table(table, ranks, codes)
    return coded, rng.random(len(coded.slots)), len(ranks.attrs)


def points_of(coded, likely, c) -> dict[int, int]:
    """Slot → its least likely equality."""
    found: dict[int, int] = {}
    for p in range(coded.offsets[c], coded.offsets[c + 1]):
        s = int(coded.slots[p])
        equality = coded.ops[p] in (IN, ALL) and coded.lo[p] == coded.hi[p]
        if equality and (s not in found or likely[p] < likely[found[s]]):
            found[s] = p
    return found


@pytest.mark.parametrize("seed", [1, 3])
def test_combinations_are_all_less_likely_subsets(seed):
    rng = np.random.default_rng(seed)
    coded, likely, _ = coded_world(rng)
    now = rng.random(len(coded.owners))
    hashes, row, chance, slots = combinations(coded, likely, now)
    wanted = set()
    for c in range(len(coded.owners)):
        points = points_of(coded, likely, c)
        for size in range(FEWEST, WIDEST + 1):
            for some in subsets(sorted(points), size):
                probability = float(np.prod([likely[points[s]] for s in some]))
                if probability < now[c]:
                    wanted.add((c, some, round(probability, 12)))
    rows = slots.reshape(-1, WIDEST).tolist()
    found = {
        (int(c), tuple(sorted(s for s in schema if s >= 0)), round(float(p), 12))
        for c, p, schema in zip(row, chance, rows, strict=True)
    }
    assert found == wanted
    assert len(row) == len(wanted) > 50
    by_hash = {(int(h), tuple(sorted(schema))) for h, schema in zip(hashes, rows, strict=True)}
    assert len({h for h, _ in by_hash}) == len({schema for _, schema in by_hash}) == len(by_hash)


def naive_select(now, groups, price):
    """Greedy with everything computed anew in each round; then what is not worth its price is taken back."""
    now, before = now.copy(), now.copy()
    chosen: list[int] = []

    def cost(some):
        made = before.copy()
        for g in some:
            for r, p in groups[g]:
                made[r] = min(made[r], p)
        return made

    while True:
        nets = [sum(max(0.0, now[r] - p) for r, p in group) - price[g] for g, group in enumerate(groups)]
        nets = [0.0 if g in chosen else net for g, net in enumerate(nets)]
        if max(nets, default=0.0) <= 0.0:
            break
        chosen.append(int(np.argmax(nets)))
        now = cost(chosen)
    while chosen:
        losses = {g: cost([o for o in chosen if o != g]).sum() - cost(chosen).sum() - price[g] for g in chosen}
        worst = min(losses, key=lambda g: losses[g])
        if losses[worst] > 0.0:
            break
        chosen.remove(worst)
    return sorted(chosen), cost(chosen)


@pytest.mark.parametrize("seed", range(8))
def test_select_is_greedy_and_gives_up_what_became_superfluous(seed):
    rng = np.random.default_rng(seed)
    rows, count = 60, 25
    now = rng.random(rows)
    groups = [
        [(int(r), float(rng.random() / 4)) for r in rng.permutation(rows)[: rng.integers(1, 20)]] for _ in range(count)
    ]
    price = rng.random(count) * 2
    starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    flat = [pair for group in groups for pair in group]
    wanted, cost = naive_select(now, groups, price)
    after = now.copy()
    row, chance = np.array([r for r, _ in flat], np.int32), np.array([p for _, p in flat])
    chosen = select(after, starts, row, chance, price)
    assert np.flatnonzero(chosen).tolist() == wanted
    assert np.allclose(after, cost)


def test_a_schema_that_others_cover_is_given_up():
    """One schema for all is the best first step; two that are better for half of the rows each make it superfluous."""
    now = np.ones(4)
    row, chance = np.array([0, 1, 2, 3, 0, 1, 2, 3], np.int32), np.array([0.3] * 4 + [0.0] * 4)
    chosen = select(now, np.array([0, 4, 6, 8]), row, chance, np.full(3, 0.1))
    assert chosen.tolist() == [False, True, True]
    assert now.tolist() == [0.0] * 4


@pytest.mark.parametrize("seed", range(4))
def test_conjunctions_go_under_their_least_likely_schema(seed):
    rng = np.random.default_rng(seed)
    coded, likely, slots = coded_world(rng)
    drawn = [rng.permutation(slots)[: rng.integers(FEWEST, WIDEST + 1)] for _ in range(20)]
    padded = np.array([[*schema, *[-1] * (WIDEST - len(schema))] for schema in drawn], np.int32)
    presence = rng.random(slots)
    schemas = by_lead(padded, presence)
    for q, lead in enumerate(schemas.slots.reshape(-1, WIDEST)[:, 0]):
        assert schemas.starts[lead] <= q < schemas.starts[lead + 1]
        members = [s for s in schemas.slots[WIDEST * q : WIDEST * (q + 1)] if s >= 0]
        assert presence[lead] == presence[members].min()
    before, cost = likely.copy(), rng.random(len(coded.owners)) / 2
    given = cost.copy()
    filed, hashes = file_under(schemas, coded, likely, cost)
    for c in range(len(coded.owners)):
        points = points_of(coded, before, c)
        ways = [
            (float(np.prod([before[points[s]] for s in schema])), schema.tolist())
            for schema in drawn
            if all(s in points for s in schema.tolist())
        ]
        best = min((p for p, _ in ways), default=2.0)
        assert filed[c] == (best < given[c])
        assert np.isclose(cost[c], min(best, given[c]))
        if filed[c]:
            schema = next(schema for p, schema in ways if p == best)
            wanted = np.uint64(0)
            for s in schema:
                wanted ^= np.uint64(value_hash(s, int(coded.lo[points[s]])))
                assert likely[points[s]] == 1.0
            assert hashes[c] == wanted
    assert filed.any()


def test_the_price_decides_how_long_schemas_are():
    rng = np.random.default_rng(2)
    table = equalities(rng, 5000)
    ranks, codes = rank_table(table)
    coded = code_table(table, ranks, codes)
    likely, presence = np.full(len(coded.slots), 0.1), np.ones(ATTRIBUTES)
    now = np.full(len(coded.owners), 0.1)
    widths = {}
    for price in (1e6, 100.0, 0.1):
        schemas, cost, _ = best_schemas(coded, likely, presence, now, 1.0, price)
        widths[price] = float((schemas >= 0).sum(axis=1).mean()) if len(schemas) else 0.0
        assert cost <= now.sum()
    assert widths[1e6] == 0.0 < widths[100.0] < widths[0.1] <= WIDEST


@pytest.mark.parametrize("look_up_ns", [0.0, 10.0])
def test_an_engine_with_schemas_equals_scan(look_up_ns, tmp_path):
    rng = np.random.default_rng(3)
    table = equalities(rng, 20_000)
    engine = TamisEngine.build(table, TamisOptions(merge="never", look_up_ns=look_up_ns))
    oracle = ScanEngine(table)
    details = engine.stats().details
    assert details["keys"]["schema"] > 19_000
    assert details["schemas"] > 5
    batches = [full_events(rng, 200), random_events(rng, 200, values=10), full_events(rng, 20, several=2)]
    for batch in batches:
        assert engine.match(batch).equals(oracle.match(batch))
    ones = batches[0]
    for e in range(50):
        one = ones.slice(e, e + 1)
        assert engine.match(one).equals(oracle.match(one))
    engine.save(tmp_path / "index")
    opened = TamisEngine.open(tmp_path / "index", TamisOptions(merge="never", look_up_ns=look_up_ns))
    assert opened.stats().details["keys"] == details["keys"]
    fresh = equalities(rng, 500)
    gone = np.arange(0, 20_000, 3, dtype=np.int32)
    for changed in (opened, oracle):
        changed.remove(gone)
        changed.insert(replace(fresh, owners=fresh.owners + np.int32(20_000), dictionary=table.dictionary))
    opened.merge()
    for batch in batches:
        assert opened.match(batch).equals(oracle.match(batch))


def test_lists_of_any_length_are_combined_or_everything_is_read():
    """With 2, 5 and 40 values of each attribute the combinations are fewer and then far more than the hashed clusters."""
    rng = np.random.default_rng(4)
    table = equalities(rng, 3000, values=60)
    engine, oracle = TamisEngine.build(table, TamisOptions(look_up_ns=0.0)), ScanEngine(table)
    assert engine.stats().details["keys"]["schema"] > 2900
    for several in (2, 5, 40):
        events = full_events(rng, 5, values=60, several=several)
        found = engine.match(events)
        assert found.equals(oracle.match(events))
        assert several < 40 or len(found.ids) > 100


def test_schemas_meet_few_candidates_and_the_best_is_estimated_as_such():
    rng = np.random.default_rng(5)
    table, events, sample = equalities(rng, 50_000), full_events(rng, 300), full_events(rng, 300)
    plain = TamisEngine.build(table, TamisOptions(sample=sample, look_up_ns=1e9))
    engine = TamisEngine.build(table, TamisOptions(sample=sample))
    assert engine.match(events).equals(plain.match(events))
    assert engine.stats().candidates < plain.stats().candidates / 50
    details = engine.stats().details
    assert details["expected_candidates"] / 3 < details["best_candidates"] < 3 * details["expected_candidates"]
    assert details["expected_candidates"] / 3 < details["candidates_per_event"] < 3 * details["expected_candidates"]
