"""The greedy choice of tables: against exhaustive search, under its bound, and by what is known of events."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from tests.unit.engines.twostage_worlds import numeric_events, numeric_world

from tamis.candidates.clusters.placing import WIDEST
from tamis.candidates.costs import Costs
from tamis.engines.registry import build_engine
from tamis.engines.static import StaticEngine, StaticOptions, plan
from tamis.errors import DataError, EngineError

COSTS = Costs(retrieve=2.0, hash=8.0, check=1.0)


def model_cost(population, ids, schemas, present):
    """The cost model in plain Python: every conjunction under its cheapest access predicate."""
    total: float = sum(COSTS.retrieve + COSTS.hash * len(s) * float(np.prod(present[list(s)])) for s in schemas)
    x = population
    for i in ids:
        row = x.cells[x.start[i] : x.start[i] + x.size[i]]
        best = {int(x.attr[p]): float(x.chance[p]) for p in row if x.lo[p] == x.hi[p]}
        choices = [s for s in [*schemas, *[(a,) for a in best]] if set(s) <= set(best)]
        prices = [float(np.prod([best[a] for a in s])) * (len(row) - len(s)) for s in choices]
        total += COSTS.check * min(prices, default=len(row))
    return total


def instance(seed, conjunctions=400):
    """Four attributes, so that every set of tables can be tried; some groups of attributes are more popular."""
    _, table, events = numeric_world(seed, conjunctions, attributes=4, domain=6, sizes=(2, 4), equality=0.85)
    engine = StaticEngine.build(table, StaticOptions(costs=COSTS, sample=events))
    ids = np.arange(len(table), dtype=np.int32)
    return engine.population(), ids, engine._presence()


@pytest.mark.parametrize("seed", range(6))
def test_greedy_is_within_a_few_per_cent_of_exhaustive_search(seed):
    population, ids, present = instance(seed)
    groups = list(chain(combinations(range(4), 2), combinations(range(4), 3)))
    subsets = chain.from_iterable(combinations(groups, n) for n in range(6))
    best = min(model_cost(population, ids[::4], s, present) for s in subsets)
    found = plan(population, ids[::4], present, COSTS, 1 << 30, 3)
    chosen = [tuple(a for a in schema.tolist() if a >= 0) for schema in found.schemas]
    assert found.cost == pytest.approx(model_cost(population, ids[::4], chosen, present))
    assert found.cost <= 1.05 * best
    assert found.cost <= model_cost(population, ids[::4], [], present)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_the_bound_on_space_is_kept(share):
    population, ids, present = instance(1)
    free, single = plan(population, ids, present, COSTS, 1 << 30, 3), plan(population, ids, present, COSTS, 0, 3)
    assert not single.schemas
    bound = int(single.space + share * (free.space - single.space))
    bounded = plan(population, ids, present, COSTS, bound, 3)
    assert bounded.space <= max(bound, single.space)
    assert free.cost <= bounded.cost <= single.cost


def test_a_sample_and_a_profile_say_which_attribute_is_worth_a_table():
    """Attribute a0 is constant in events: tables that contain it gain nothing."""
    rng, table, _ = numeric_world(2, 3000, attributes=5, domain=10, sizes=(3, 4), equality=1.0)
    events = numeric_events(rng, 500, 5, 10, presence=1.0)
    constant = events.keys.copy()
    constant[events.attrs == 0] = table.lo[table.attrs == 0][0]
    events = replace(events, keys=constant)
    flat = {"presence": 1.0, "distinct": 10, "heavy": []}
    value = float(np.int64(constant[0]).view(np.float64))
    profile = {"attributes": {f"a{i}": flat for i in range(1, 5)} | {"a0": {**flat, "heavy": [[value, 1.0]]}}}
    for options in ({"sample": events}, {"profile": profile}):
        engine = build_engine("static", table, {"costs": COSTS, **options})
        heavy = [s for s in engine.stats().details["schemas"] if "a0" in s]
        assert engine.stats().details["schemas"]
        assert not heavy
        assert engine.match(events).equals(build_engine("scan", table).match(events))


def test_bad_options_are_refused():
    _, table, _ = numeric_world(1, 10)
    with pytest.raises(EngineError, match=f"max_attributes=9 is not in 1..{WIDEST}"):
        build_engine("static", table, {"max_attributes": 9})
    with pytest.raises(DataError, match="the profile cannot be read"):
        build_engine("static", table, {"profile": {"columns": []}, "costs": COSTS})
