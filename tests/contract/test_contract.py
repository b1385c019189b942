"""What every engine promises, on random worlds over all operators and types, held against `model/evaluate.py`."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.variants import DEFAULT_EXAMPLES, EXAMPLES, VARIANTS, label
from tests.contract.worlds import (
    ATTRIBUTES,
    World,
    conjunctions,
    dnfs,
    literals,
    populations,
    streams,
)

from tamis.encoding.matches import MatchSet
from tamis.model.event import Event
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal

pytestmark = pytest.mark.parametrize("variant", VARIANTS, ids=label)


def cases(*strategies):
    """`given`, with as many examples as the engine is due."""

    def decorate(test):
        def run(variant):
            examples = settings(max_examples=EXAMPLES.get(variant[0], DEFAULT_EXAMPLES))
            examples(given(st.tuples(*strategies))(lambda drawn: test(variant, *drawn)))()

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


def numbered(population, start=0):
    return {start + i: dnf for i, dnf in enumerate(population)}


@cases(populations, streams)
def test_equals_the_model(variant, population, stream):
    World(variant, numbered(population)).check(stream)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.lists(dnfs, min_size=1, max_size=4)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 20), max_size=4)),
        st.tuples(st.just("match"), streams),
    ),
    max_size=8,
)


@cases(populations, steps, streams)
def test_follows_inserts_and_removals(variant, population, script, stream):
    world = World(variant, numbered(population))
    for step, argument in script:
        if step == "match":
            world.check(argument)
        elif step == "remove":
            world.remove(argument)
        else:
            free = [i for i in range(64) if i not in world.population]
            world.insert(dict(zip(free, argument, strict=False)))
    world.check(stream)


@cases(populations, streams, st.integers(0, 6))
def test_a_split_batch_gives_the_same(variant, population, stream, cut):
    world = World(variant, numbered(population))
    batch = world.batch(stream)
    cut = min(cut, len(batch))
    parts = [world.engine.match(batch.slice(0, cut)), world.engine.match(batch.slice(cut, len(batch)))]
    assert MatchSet.concat(parts).equals(world.engine.match(batch))


@cases(populations, streams, st.randoms(use_true_random=False))
def test_order_does_not_matter(variant, population, stream, shuffler):
    ids = list(range(len(population)))
    shuffler.shuffle(ids)
    first = World(variant, numbered(population)).match(stream)
    second = World(variant, {i: population[i] for i in ids}).match(stream[::-1])
    assert first == second[::-1]


@cases(conjunctions, literals, streams)
def test_a_further_conjunct_only_shrinks(variant, term, extra, stream):
    wide, narrow = 0, 1
    world = World(variant, {wide: (term,), narrow: ((*term, extra),)})
    assert all(wide in ids for ids in world.match(stream) if narrow in ids)


@cases(dnfs, conjunctions, streams)
def test_a_further_disjunct_only_grows(variant, dnf, extra, stream):
    narrow, wide = 0, 1
    world = World(variant, {narrow: dnf, wide: (*dnf, extra)})
    assert all(wide in ids for ids in world.match(stream) if narrow in ids)


@cases(populations, streams, st.integers(0, 11))
def test_removing_one_changes_no_other(variant, population, stream, victim):
    world = World(variant, numbered(population))
    before = world.match(stream)
    world.remove([victim])
    assert world.match(stream) == [ids - {victim} for ids in before]


@cases(populations, streams, st.sampled_from(ATTRIBUTES), st.integers(-2, 6), st.integers(0, 4), st.integers(0, 3))
def test_widening_a_range_only_grows(variant, population, stream, attribute, low, width, more):
    def between(lo, hi):
        return ((Literal(Predicate(attribute, Op.BETWEEN, (lo, hi))),),)

    narrow, wide = 100, 101
    world = World(variant, numbered(population))
    world.insert({narrow: between(low, low + width), wide: between(low - more, low + width + more)})
    assert all(wide in ids for ids in world.match(stream) if narrow in ids)


@cases(populations, st.lists(dnfs, min_size=1, max_size=5), streams)
def test_adding_and_removing_restores(variant, population, extra, stream):
    world = World(variant, numbered(population))
    matches, size = world.match(stream), world.size()
    world.insert(numbered(extra, start=50))
    world.check(stream)
    world.remove(list(range(50, 50 + len(extra))))
    assert (world.match(stream), world.size()) == (matches, size)


@cases(populations, streams)
def test_an_attribute_nobody_names_changes_nothing(variant, population, stream):
    world = World(variant, numbered(population))
    assert world.match(stream) == world.match([{**event, "nobody": (1, "x")} for event in stream])


def test_empty_sides(variant):
    world = World(variant, {})
    world.check([])
    world.check([{}, {"a": (1,)}])
    world.insert({0: ((),), 1: ()})
    world.check([{}, {"a": (1,)}])
    world.remove([0, 1, 2])
    world.check([{}, {"a": (1,)}])


def test_many_equal_subscriptions(variant):
    dnf = ((Literal(Predicate("a", Op.EQ, (1,))), Literal(Predicate("b", Op.GE, (2,)))),)
    world = World(variant, dict.fromkeys(range(3000), dnf))
    world.check([{"a": (1,), "b": (2,)}, {"a": (1,), "b": (1,)}, {"b": (5,)}])
    world.remove(list(range(0, 3000, 2)))
    world.check([{"a": (1,), "b": (2,)}])


def test_extreme_widths(variant):
    """A conjunction with 64 predicates, an event with 256 attributes and one with a list of 1,000 values."""
    wide = tuple(Literal(Predicate(f"x{i}", Op.GE, (i,))) for i in range(64))
    among = ((Literal(Predicate("a", Op.IN, tuple(range(500)))),),)
    world = World(variant, {0: (wide,), 1: (wide[:63],), 2: among})
    event: Event = {f"x{i}": (i,) for i in range(256)}
    world.check([event, {**event, "x63": (0,)}, {"a": tuple(range(499, 1499))}, {"a": (-1, 1000)}])


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_numeric_world_with_churn(variant, seed):
    """Hundreds of conjunctions over few attributes, so that structures split, merge and collapse."""
    chance = random.Random(seed)

    def dnf():
        chosen = chance.sample(range(8), chance.randint(1, 4))
        bounds = [sorted((chance.randrange(40), chance.randrange(40))) for _ in chosen]
        return (
            tuple(
                Literal(
                    Predicate(f"n{a}", Op.EQ, (lo,))
                    if chance.random() < 0.4
                    else Predicate(f"n{a}", Op.BETWEEN, (lo, hi))
                )
                for a, (lo, hi) in zip(chosen, bounds, strict=True)
            ),
        )

    def stream():
        return [{f"n{a}": (chance.randrange(40),) for a in range(8) if chance.random() < 0.8} for _ in range(20)]

    world = World(variant, {i: dnf() for i in range(600)})
    world.check(stream())
    for _ in range(4):
        world.remove(chance.sample(sorted(world.population), 200))
        free = [i for i in range(900) if i not in world.population]
        world.insert({i: dnf() for i in chance.sample(free, 200)})
        world.check(stream())
    world.remove(sorted(world.population))
    world.check(stream())
    assert world.size() == (0, 0)


def test_stats_count_what_was_done(variant):
    dnf = ((Literal(Predicate("a", Op.EQ, (1,))),),)
    world = World(variant, {0: dnf, 1: dnf})
    world.match([{"a": (1,)}, {"a": (2,)}])
    stats = world.engine.stats()
    assert (stats.subscriptions, stats.conjunctions, stats.events, stats.matches) == (2, 2, 2, 2)
    assert stats.candidates >= stats.matches
    assert stats.bytes_held > 0
    assert isinstance(world.engine.match(world.batch([])).ids, np.ndarray)
