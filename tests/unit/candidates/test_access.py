"""The kernels that weigh access predicates, against plain Python over sets."""

import random
from itertools import combinations

import numpy as np
import pytest

from tamis.candidates.access import Population, adopt, choose, equalities, gains, lightest
from tamis.encoding.subscriptions import IN

COLUMNS = 4


class World:
    """Random conjunctions over few predicates, some of which are not equalities."""

    def __init__(self, seed):
        chance = random.Random(seed)
        count = 40
        attr = [chance.randrange(6) for _ in range(count)]
        equal = [chance.random() < 0.8 for _ in range(count)]
        self.chance = [chance.choice([0.5, 0.25, 0.1, 0.01]) * chance.uniform(0.9, 1) for _ in range(count)]
        self.rows = [chance.sample(range(count), chance.randint(0, 6)) for _ in range(120)]
        self.attr, self.equal = attr, equal
        offsets = np.cumsum([0, *map(len, self.rows)])
        self.population = Population(
            offsets[:-1].astype(np.int64),
            np.diff(offsets).astype(np.int32),
            np.array([p for row in self.rows for p in row], np.int32),
            np.array(attr, np.int32),
            np.full(count, IN, np.uint8),
            np.zeros(count, np.int64),
            np.where(equal, 0, 9).astype(np.int64),
            np.array(self.chance),
        )
        self.ids = np.arange(len(self.rows), dtype=np.int32)

    def best(self, row):
        """Attribute → the least likely equality predicate on it."""
        found: dict[int, int] = {}
        for p in (p for p in row if self.equal[p]):
            if self.attr[p] not in found or self.chance[p] < self.chance[found[self.attr[p]]]:
                found[self.attr[p]] = p
        return dict(sorted(found.items()))

    def cost(self, row, schema):
        """Of checking a conjunction under a schema, or None if it has no such access predicate."""
        best = self.best(row)
        if not set(schema) <= set(best):
            return None
        return float(np.prod([self.chance[best[a]] for a in schema])) * (len(row) - len(schema))


def padded(schema):
    return np.array([*schema, *[-1] * (COLUMNS - len(schema))], np.int32)


@pytest.mark.parametrize("seed", range(5))
def test_equalities_ascend_by_attribute_with_the_least_likely_of_each(seed):
    world, out = World(seed), np.empty(16, np.int32)
    for i, row in enumerate(world.rows):
        assert out[: equalities(world.population, i, out)].tolist() == list(world.best(row).values())


@pytest.mark.parametrize("seed", range(5))
def test_choose_takes_the_cheapest(seed):
    world = World(seed)
    live = [(0, 1), (2, 3), (0, 2, 4), (1, 5)]
    schemas = np.stack([padded(()), *map(padded, live), padded(())])
    arity = np.array([0, 2, 2, 3, 2, 0], np.int32)
    keys, table, chances, costs = choose(world.population, world.ids, schemas, arity)
    for i, row in enumerate(world.rows):
        options = [world.cost(row, s) for s in [*live, *[(a,) for a in world.best(row)]]]
        applicable = [c for c in options if c is not None]
        assert costs[i] == pytest.approx(min(applicable, default=len(row)))
        its = [int(k) for k in keys[i] if k >= 0]
        assert set(its) <= set(row)
        assert chances[i] == pytest.approx(np.prod([world.chance[p] for p in its]))
        assert [world.attr[p] for p in its] == list(live[table[i] - 1]) if table[i] else len(its) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_gains_and_adopt_add_up_what_each_schema_saves(seed):
    world = World(seed)
    _, _, _, cost = choose(world.population, world.ids, np.full((1, COLUMNS), -1, np.int32), np.zeros(1, np.int32))
    schemas, gain, takers = gains(world.population, world.ids, cost, 3, COLUMNS, True)
    known = {tuple(a for a in schema if a >= 0): i for i, schema in enumerate(schemas.tolist())}
    assert len(known) == len(schemas)
    for schema in [*combinations(range(6), 2), *combinations(range(6), 3)]:
        saved = [cost[i] - c for i, row in enumerate(world.rows) if (c := world.cost(row, schema)) is not None]
        saved = [s for s in saved if s > 0]
        if not saved:
            assert schema not in known
            continue
        i = known[schema]
        assert gain[i] == pytest.approx(sum(saved))
        assert takers[i] == len(saved)
        fixed = np.ones(len(world.ids), np.int32)
        total, cells, entries = adopt(world.population, world.ids, cost.copy(), fixed, schemas[i], len(schema), True)
        assert total == pytest.approx(sum(saved))
        assert cells == len(saved) * (len(schema) - 1)
        assert 1 <= entries <= len(saved)
        assert (fixed == len(schema)).sum() == len(saved)


def test_lightest_spreads_conjunctions_evenly():
    world = World(0)
    load = np.zeros(40, np.int64)
    keys, _ = lightest(world.population, world.ids, COLUMNS, load)
    twin = [0] * 40
    for row, key in zip(world.rows, keys[:, 0], strict=True):
        choices = list(world.best(row).values())
        assert (key < 0) == (not choices)
        if choices:
            assert twin[key] == min(twin[p] for p in choices)
            twin[key] += 1
    assert load.tolist() == twin
