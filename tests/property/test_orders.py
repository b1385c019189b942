"""Every order of inserting and removing up to five subscriptions: the same matches, and the same size of structure."""

from itertools import permutations

import numpy as np
import pytest

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import SubscriptionTable, encode_subscriptions
from tamis.engines.base import make_options
from tamis.engines.rebuild import updatable
from tamis.engines.registry import engine_class
from tamis.model.evaluate import matches_dnf
from tamis.model.event import Event
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal


def ask(*predicates):
    return (tuple(Literal(p) for p in predicates),)


def between(name, lo, hi):
    return Predicate(name, Op.BETWEEN, (lo, hi))


def equal(name, value):
    return Predicate(name, Op.EQ, (value,))


# Shared prefixes, equal conditions, absence, spans across any cut, and one with nothing to index.
SUBSCRIPTIONS = [
    ask(equal("a", 1), between("b", 2, 6)),
    ask(equal("a", 1), equal("b", 3), Predicate("c", Op.MISSING)),
    ask(equal("a", 1), between("b", 2, 6)),
    ask(between("b", 0, 7), between("c", 4, 5)),
    (*ask(Predicate("d", Op.MISSING)), *ask(equal("c", 4))),
]
EVENTS: list[Event] = [
    {},
    {"a": (1,), "b": (3,)},
    {"a": (1,), "b": (5,), "c": (4,)},
    {"b": (3,), "c": (4,), "d": (0,)},
    {"d": (1,)},
]

# What counts as structure, besides subscriptions and conjunctions.
SIZES = {
    "tree": ["nodes"],
    "rapid": ["nodes", "standings"],
    "betree": ["nodes", "domains_from_constants"],
    "pubsub": ["structures", "buckets"],
    "siena": ["constraints", "trie_nodes"],
}
VARIANTS = [
    ("tree", {}),
    ("rapid", {}),
    ("rapid", {"light": 2}),
    ("betree", {}),
    *(("betree", {"leaf_capacity": n, "visit_cost": 2}) for n in (1, 2, 3)),
    ("siena", {}),
    ("pubsub", {}),
    *(("pubsub", {"bucket_size": n, "structure": d}) for n in (1, 2) for d in ("auto", "it", "rbpst", "hash")),
]


class Trial:
    """One engine over the five subscriptions, empty at first."""

    def __init__(self, variant):
        self.name, options = variant
        self.dictionary = Dictionary()
        self.tables = [encode_subscriptions([(i, dnf)], self.dictionary) for i, dnf in enumerate(SUBSCRIPTIONS)]
        self.batch = encode_events(EVENTS, self.dictionary)
        empty = SubscriptionTable.empty(self.dictionary)
        kind = engine_class(self.name)
        self.engine = updatable(kind, empty, make_options(kind.options_type, self.name, options))

    def insert(self, i):
        self.engine.insert(self.tables[i])

    def remove(self, i):
        self.engine.remove(np.array([i], np.int32))

    def state(self):
        found = self.engine.match(self.batch)
        stats = self.engine.stats()
        sizes = [stats.subscriptions, stats.conjunctions, *(stats.details[name] for name in SIZES[self.name])]
        return [sorted(found.of(e).tolist()) for e in range(len(EVENTS))], sizes


def expected(held):
    return [sorted(i for i in held if matches_dnf(SUBSCRIPTIONS[i], event)) for event in EVENTS]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_order_of_insertion_and_removal(variant):
    """All 5! orders of inserting, each followed by an order of removing: a set of subscriptions has one state."""
    seen: dict[frozenset[int], list[int]] = {}
    trial = Trial(variant)
    for n, order in enumerate(permutations(range(len(SUBSCRIPTIONS)))):
        leaving = order if n % 2 else order[::-1]
        held: frozenset[int] = frozenset()
        for act, turn in ((trial.insert, order), (trial.remove, leaving)):
            for i in turn:
                act(i)
                held = held ^ {i}
                matches, sizes = trial.state()
                assert matches == expected(held)
                assert seen.setdefault(held, sizes) == sizes
    assert len(seen) == 2 ** len(SUBSCRIPTIONS)
