"""The walks against plain-Python twins, the bound of Theorem 2, the pairwise savings, and maintenance of the chains."""

import itertools
import random
from typing import Any

import numpy as np
import pytest

from tamis.candidates.schedule.chains import Chains
from tamis.candidates.schedule.order import PAIRED, pairs, saving
from tamis.candidates.schedule.plan import RULES, Plan
from tamis.errors import OperatorError

Subscription = list[tuple[int, bool]]


def random_instance(rng: random.Random, predicates: int, most: int, longest: int, negated: float = 0.2):
    subscriptions = []
    for _ in range(rng.randint(1, most)):
        chosen = rng.sample(range(predicates), rng.randint(1, min(longest, predicates)))
        subscriptions.append([(p, rng.random() >= negated) for p in chosen])
    truth = [rng.random() < 0.5 for _ in range(predicates)]
    return subscriptions, truth


def csr(subscriptions: list[Subscription]) -> tuple[Any, Any, Any]:
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in subscriptions])]).astype(np.int64)
    flat = [literal for s in subscriptions for literal in s]
    preds = np.array([p for p, _ in flat], np.int32)
    return offsets, preds, np.array([w for _, w in flat], np.int8)


def planned(rule: str, subscriptions: list[Subscription], selectivity, cost=None) -> Plan:
    plan = Plan(rule)
    cost = np.ones(len(selectivity)) if cost is None else cost
    plan.insert(np.arange(len(subscriptions), dtype=np.int32), *csr(subscriptions), selectivity, cost)
    return plan


def expected_matches(subscriptions: list[Subscription], truth: list[bool]) -> list[bool]:
    return [all(truth[p] is w for p, w in s) for s in subscriptions]


def optimum(subscriptions: list[Subscription], truth: list[bool]) -> int:
    """The fewest predicates that decide every subscription, by trying all sets in order of size."""
    must = {p for s in subscriptions if all(truth[p] is w for p, w in s) for p, _ in s}
    deciding = [{p for p, w in s if truth[p] is not w} for s in subscriptions]
    open_sets = [d for d in deciding if d]
    others = sorted(set().union(*open_sets) - must) if open_sets else []
    for size in range(len(others) + 1):
        for extra in itertools.combinations(others, size):
            chosen = must | set(extra)
            if all(d & chosen for d in open_sets):
                return len(chosen)
    raise AssertionError("all predicates together decide everything")


def twin_naive(order, chains, truth) -> set[int]:
    seen = set()
    for c in order:
        for p, w in chains[c]:
            seen.add(p)
            if truth[p] is not w:
                break
    return seen


def twin_sequential(order, chains, truth) -> set[int]:
    undecided, seen = set(order), set()

    def decide() -> None:
        for c in list(undecided):
            if any(p in seen and truth[p] is not w for p, w in chains[c]) or all(p in seen for p, _ in chains[c]):
                undecided.remove(c)

    for c in order:
        if c in undecided:
            for p, _ in chains[c]:
                if p not in seen and any(p in (q for q, _ in chains[u]) for u in undecided):
                    seen.add(p)
                    decide()
            decide()
    return seen


def twin_suborder(order, chains, truth) -> set[int]:
    seen: set[int] = set()
    for c in order:
        if any(p in seen and truth[p] is not w for p, w in chains[c]):
            continue
        for p, w in chains[c]:
            seen.add(p)
            if truth[p] is not w:
                break
    return seen


TWINS = {"naive": twin_naive, "sequential": twin_sequential, "suborder": twin_suborder, "popular": twin_suborder}


@pytest.mark.parametrize("rule", RULES)
def test_walk_evaluates_what_its_twin_does_and_matches_are_exact(rule: str):
    rng = random.Random(f"twin {rule}")
    for _ in range(300):
        subscriptions, truth = random_instance(rng, 9, 12, 5)
        selectivity = np.array([rng.random() for _ in truth])
        plan = planned(rule, subscriptions, selectivity)
        evaluated, matched = plan.tally(np.array([truth], np.int8))
        assert matched[0][: len(subscriptions)].tolist() == expected_matches(subscriptions, truth)
        offsets, preds, wanted = plan.chains.nodes_of(np.arange(len(subscriptions), dtype=np.int32))
        chains = [
            [(int(preds[i]), bool(wanted[i])) for i in range(offsets[c], offsets[c + 1])]
            for c in range(len(subscriptions))
        ]
        assert [sorted(c) for c in chains] == [sorted(s) for s in subscriptions]
        assert evaluated[0] == len(TWINS[rule](plan.order().tolist(), chains, truth))


def test_theorem_2_against_the_exhaustive_optimum():
    rng = random.Random(2)
    worst = 0.0
    for _ in range(1500):
        subscriptions, truth = random_instance(rng, rng.randint(2, 10), 12, rng.randint(1, 5), negated=0.0)
        longest = max(len(s) for s in subscriptions)
        plan = planned("sequential", subscriptions, np.full(len(truth), 0.5))
        best = optimum(subscriptions, truth)
        evaluated = int(plan.tally(np.array([truth], np.int8))[0][0])
        assert best <= evaluated <= longest * best
        worst = max(worst, evaluated / (longest * best))
    assert worst == 1.0, "the bound is reached by some instance, so the check is sharp"


def test_theorem_2_with_unequal_costs():
    rng = random.Random(3)
    for _ in range(300):
        subscriptions, truth = random_instance(rng, 8, 8, 4, negated=0.0)
        costs = [rng.choice([1, 2, 5]) for _ in truth]
        plan = planned("sequential", subscriptions, np.full(8, 0.5), np.array(costs, np.float64))
        walk = plan.walk(plan.chains.ids(), 8)
        spent = 0
        while True:
            p, c = walk.next()
            if p < 0 and c < 0:
                break
            if p >= 0:
                spent += costs[p]
                walk.settle(p, int(truth[p]))
        used = [p for s in subscriptions for p, _ in s]
        ratio = max(costs[p] for p in used) / min(costs[p] for p in used)
        bound = max(map(len, subscriptions)) * ratio * optimum(subscriptions, truth) * min(costs[p] for p in used)
        assert spent <= bound * (1 + 1e-12)


def two_chain_cost(chains: list[list[int]], selectivity, cost) -> float:
    """Expected cost of suborder's walk over the chains in the given order, by enumeration."""
    predicates = sorted({p for c in chains for p in c})
    total = 0.0
    for outcome in itertools.product([False, True], repeat=len(predicates)):
        truth = dict(zip(predicates, outcome, strict=True))
        weight = np.prod([selectivity[p] if truth[p] else 1 - selectivity[p] for p in predicates])
        literal = [[(p, True) for p in c] for c in chains]
        total += weight * sum(cost[p] for p in twin_suborder(range(len(chains)), literal, truth))
    return float(total)


@pytest.mark.parametrize("shared", [0, 1, 2])
def test_saving_is_the_difference_of_expected_costs(shared: int):
    rng = random.Random(4)
    for _ in range(100):
        selectivity = np.array([rng.uniform(0.05, 0.95) for _ in range(8)])
        cost = np.array([rng.uniform(0.5, 3) for _ in range(8)])
        common = list(range(shared))
        one = common + rng.sample([2, 3, 4], rng.randint(1, 3))
        two = common + rng.sample([5, 6, 7], rng.randint(1, 3))
        plan = planned("suborder", [[(p, True) for p in one], [(p, True) for p in two]], selectivity, cost)
        c = plan.chains
        chains = [c.preds[c.first[k] : c.first[k] + c.count[k]].tolist() for k in (0, 1)]
        got = saving(0, 1, c.first, c.count, c.preds, c.wanted, selectivity, cost)
        difference = two_chain_cost(chains, selectivity, cost) - two_chain_cost(chains[::-1], selectivity, cost)
        assert got == pytest.approx(difference, abs=1e-12)


def test_a_popular_predicate_costs_no_quadratic_number_of_pairs():
    rng = random.Random(5)
    subscriptions = [[(0, True), (1 + k, True)] for k in range(500)]
    selectivity = np.array([0.9] + [rng.random() * 0.8 for _ in subscriptions])
    plan = planned("suborder", subscriptions, selectivity)
    before, _, gain = pairs(*plan.chains.structure, selectivity, np.ones(501))
    assert len(before) <= len(subscriptions) - 1
    assert (gain > 0).all()
    small = planned("suborder", subscriptions[:PAIRED], selectivity)
    assert len(pairs(*small.chains.structure, selectivity, np.ones(501))[0]) == PAIRED * (PAIRED - 1) // 2
    assert sorted(plan.order().tolist()) == list(range(500))
    reached = [selectivity[1 + c] for c in plan.order().tolist()]  # P/C of the shared node is what stands above it
    assert reached == sorted(reached, reverse=True)


@pytest.mark.parametrize("rule", RULES)
def test_insert_and_remove_keep_the_links(rule: str):
    rng = random.Random(6)
    plan, predicates = Plan(rule), 30
    alive: dict[int, Subscription] = {}
    selectivity, cost = np.linspace(0.1, 0.9, predicates), np.ones(predicates)
    for step in range(600):
        if alive and rng.random() < 0.45:
            chain = rng.choice(list(alive))
            del alive[chain]
            plan.remove(np.array([chain], np.int32))
        else:
            chain = next(c for c in itertools.count() if c not in alive)
            literals = [(p, rng.random() < 0.8) for p in rng.sample(range(predicates), rng.randint(1, 6))]
            alive[chain] = literals
            plan.insert(np.array([chain], np.int32), *csr([literals]), selectivity, cost)
        if step % 50 == 0:
            check_against_fresh(plan, alive, predicates)
    plan.refresh(selectivity[::-1].copy(), cost)
    check_against_fresh(plan, alive, predicates)


def check_against_fresh(plan: Plan, alive: dict[int, Subscription], predicates: int) -> None:
    assert sorted(plan.order().tolist()) == sorted(alive)
    chains = plan.chains
    for p in range(predicates):
        node, users = int(chains.head[p]) if p < len(chains.head) else -1, set()
        while node >= 0:
            assert chains.preds[node] == p
            users.add((int(chains.chain_of[node]), bool(chains.wanted[node])))
            node = int(chains.links[node])
        assert users == {(c, w) for c, literals in alive.items() for q, w in literals if q == p}
    table = np.random.default_rng(len(alive)).integers(0, 2, (20, predicates)).astype(np.int8)
    matched = plan.tally(table)[1]
    for row, found in zip(table, matched, strict=True):
        want = {c for c, literals in alive.items() if all(row[p] == w for p, w in literals)}
        assert set(np.flatnonzero(found).tolist()) == want


def test_a_dropped_chain_needs_nothing():
    plan = planned("suborder", [[(0, True)], [(1, True), (2, True)]], np.full(3, 0.5))
    walk = plan.walk(plan.chains.ids(), 3)
    walk.drop(1)
    seen = []
    while (step := walk.next()) != (-1, -1):
        if step[0] >= 0:
            seen.append(step[0])
            walk.settle(step[0], 1)
    assert seen == [0]


def test_unknown_rule_is_refused_by_name():
    with pytest.raises(OperatorError, match="did you mean 'suborder'"):
        Plan("sub-order")


def test_chains_pack_their_holes():
    chains = Chains()
    for c in range(2000):
        chains.insert(
            np.array([c], np.int32), np.array([0, 1], np.int64), np.array([c % 7], np.int32), np.ones(1, np.int8), None
        )
    chains.remove(np.arange(1500, dtype=np.int32))
    assert chains.nodes == chains.live == 500
    assert chains.popularity[:7].sum() == 500
