"""BE-Tree: what its nodes promise, and domains that are guessed, exceeded or declared."""

import random

import numpy as np
import pytest

from tamis.candidates.cutting.domains import span
from tamis.candidates.cutting.nodes import Cuts
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import SubscriptionTable, encode_subscriptions
from tamis.engines.betree import BetreeEngine, BetreeOptions
from tamis.errors import EngineError
from tamis.model.predicate import Op, Predicate
from tamis.model.schema import IntDomain, PublicationType
from tamis.model.subscription import Literal


def ask(*predicates):
    return (tuple(Literal(p) for p in predicates),)


def between(name, lo, hi):
    return Predicate(name, Op.BETWEEN, (lo, hi))


def tree_nodes(t: Cuts):
    """Every node with the attributes of those above it."""
    stack = [(0, frozenset[int]())]
    while stack:
        node, above = stack.pop()
        yield node, above
        mine = above | {int(t.attr[node])}
        stack += [(int(child), above) for child in (t.left[node], t.right[node]) if child >= 0]
        child = int(t.parts[node])
        while child >= 0:
            stack.append((child, mine))
            child = int(t.next[child])


def check(engine: BetreeEngine, capacity: int) -> None:
    """Totals add up, every row stands once and where its interval lies, and no bucket is large without cause."""
    t, c = engine.tree, engine.rows.columns
    seen = []
    nodes = list(tree_nodes(t))
    assert len(nodes) == t.top[2]
    for node, above in nodes:
        bucket = t.data[t.start[node] : t.start[node] + t.size[node]].tolist()
        seen += bucket
        below = [n for n in (t.left[node], t.right[node]) if n >= 0]
        child = t.parts[node]
        while child >= 0:
            below.append(child)
            assert t.parent[child] == node
            assert t.attr[child] not in above | {t.attr[node]}
            child = t.next[child]
        assert t.total[node] == t.size[node] + sum(t.total[n] for n in below)
        assert node == 0 or t.total[node] > 0
        for at, row in enumerate(bucket):
            assert (t.place[row], t.at[row]) == (node, at)
            if t.attr[node] >= 0:
                first, last = span(c, engine.domains, row, t.attr[node])
                assert t.lo[node] <= first <= last <= t.hi[node]
        assert t.size[node] <= t.limit[node]
        assert t.total[node] > capacity // 2 or not below
    assert sorted(seen) == engine.rows.live_rows().tolist()


@pytest.mark.parametrize("capacity", [1, 3, 8])
def test_structure_under_churn(capacity):
    chance = random.Random(capacity)
    dictionary = Dictionary()

    def table(ids):
        def dnf():
            names = chance.sample("abcdef", chance.randint(1, 3))
            ends = [sorted((chance.randrange(100), chance.randrange(100))) for _ in names]
            return ask(*(between(n, *e) for n, e in zip(names, ends, strict=True)))

        return encode_subscriptions([(i, dnf()) for i in ids], dictionary)

    engine = BetreeEngine.build(table(range(300)), BetreeOptions(leaf_capacity=capacity, visit_cost=2))
    check(engine, capacity)
    held = set(range(300))
    for _ in range(20):
        gone = chance.sample(sorted(held), chance.randint(0, len(held)))
        engine.remove(np.array(gone, np.int32))
        held -= set(gone)
        check(engine, capacity)
        new = [i for i in chance.sample(range(400), 60) if i not in held]
        engine.insert(table(new))
        held |= set(new)
        check(engine, capacity)
    engine.remove(np.array(sorted(held), np.int32))
    assert engine.stats().details["nodes"] == 1


def test_domains_from_constants_are_widened_and_reported():
    dictionary = Dictionary()
    engine = BetreeEngine.build(SubscriptionTable.empty(dictionary), BetreeOptions(leaf_capacity=2))
    for i in range(200):
        engine.insert(encode_subscriptions([(i, ask(between("x", i, i + 1)))], dictionary))
    details = engine.stats().details
    assert (details["domains_declared"], details["domains_from_constants"]) == (0, 1)
    assert 2 <= details["domain_rebuilds"] <= 20
    batch = encode_events([{"x": (150,)}, {"x": (-1e9,)}, {"x": (1e9,)}], dictionary)
    found = engine.match(batch)
    assert [sorted(found.of(e).tolist()) for e in range(3)] == [[149, 150], [], []]


def test_declared_domains_need_no_rebuild():
    dictionary = Dictionary(type=PublicationType({"x": IntDomain(0, 1000)}))
    engine = BetreeEngine.build(SubscriptionTable.empty(dictionary), BetreeOptions(leaf_capacity=2))
    engine.insert(encode_subscriptions([(i, ask(between("x", i, i + 1))) for i in range(200)], dictionary))
    details = engine.stats().details
    assert (details["domains_declared"], details["domain_rebuilds"]) == (1, 0)
    assert details["nodes"] > 50


def test_strings_and_numbers_share_an_attribute():
    dictionary = Dictionary()
    population = [ask(Predicate("x", Op.EQ, (f"s{i}",))) for i in range(50)]
    population += [ask(Predicate("x", Op.EQ, (i,))) for i in range(50)]
    engine = BetreeEngine.build(
        encode_subscriptions(enumerate(population), dictionary), BetreeOptions(leaf_capacity=2, visit_cost=2)
    )
    found = engine.match(encode_events([{"x": ("s7",)}, {"x": (7,)}, {"x": ("s7", 7)}, {"x": (True,)}], dictionary))
    assert [sorted(found.of(e).tolist()) for e in range(4)] == [[7], [57], [7, 57], []]


def test_refuses_senseless_options():
    with pytest.raises(EngineError, match="leaf_capacity = 0 must be at least 1"):
        BetreeOptions(leaf_capacity=0)
