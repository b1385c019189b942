"""Random worlds (subscriptions and events over a small alphabet, so that matches happen) and an engine held to the model."""

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, encode_events
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.engines.base import EngineStats, make_options
from tamis.engines.rebuild import updatable
from tamis.engines.registry import engine_class
from tamis.model.evaluate import matches_dnf
from tamis.model.event import Event
from tamis.model.predicate import PATTERN_OPS, Op, Predicate
from tamis.model.subscription import Conjunction, Dnf, Literal
from tamis.model.values import Scalar
from tamis.predicates.text import TextIndex

ATTRIBUTES = ["a", "b", "c", "d", "e.f"]
NUMBERS = [*range(-2, 7), 0.5, 2.0, -0.0, 1e300, 2**53, 2**53 + 1, 2.0**53, -(2**60) - 1, 2**63 - 1, -(2**63)]
STRINGS = ["", "a", "ab", "b", "Sony", "SONY", "straße", "x%y", "日本"]
PATTERNS = ["", "a", "A%", "%n_", "_b", "S.*y$", "^a", "on", "日"]


def pool(count, make):
    """A fixed pool of random things: drawing an index is far cheaper than drawing the thing, and still shrinks."""
    chance = random.Random(20)
    return st.sampled_from([make(chance) for _ in range(count)])


def value(chance: random.Random) -> Scalar:
    kinds: list[Sequence[Scalar]] = [range(7), range(7), NUMBERS, STRINGS, [True, False]]
    return chance.choice(chance.choice(kinds))


def event(chance: random.Random) -> Event:
    names = chance.sample(ATTRIBUTES, chance.randint(0, 5))
    return {name: tuple(value(chance) for _ in range(chance.choice([1, 1, 1, 2, 3]))) for name in names}


def predicate(chance: random.Random) -> Predicate:
    attribute, op = chance.choice(ATTRIBUTES), chance.choice([Op.EQ, Op.EQ, Op.LE, Op.BETWEEN, Op.BETWEEN, *Op])
    nocase = chance.random() < 0.1
    if op in (Op.EXISTS, Op.MISSING):
        return Predicate(attribute, op)
    if op in (Op.IN, Op.NOT_IN):
        return Predicate(attribute, op, tuple(value(chance) for _ in range(chance.randint(1, 4))), nocase)
    if op is Op.BETWEEN:
        mixed = chance.random() < 0.2
        ends = (value(chance), value(chance)) if mixed else sorted((chance.randrange(7), chance.randrange(7)))
        return Predicate(attribute, op, tuple(ends))
    if op in PATTERN_OPS:
        return Predicate(attribute, op, (chance.choice(PATTERNS),), nocase)
    return Predicate(attribute, op, (value(chance),), nocase)


literals = pool(1500, lambda chance: Literal(predicate(chance), chance.random() < 0.2))
events = pool(600, event)
conjunctions: st.SearchStrategy[Conjunction] = st.lists(literals, max_size=4).map(tuple)
dnfs: st.SearchStrategy[Dnf] = st.one_of(
    st.tuples(conjunctions), st.tuples(conjunctions), st.lists(conjunctions, max_size=3).map(tuple)
)
populations = st.lists(dnfs, max_size=10)
streams = st.lists(events, max_size=6)


class World:
    """An engine and the dict that says what it must answer."""

    def __init__(self, variant: tuple[str, dict[str, object]], population: dict[int, Dnf]) -> None:
        name, options = variant
        kind = engine_class(name)
        self.dictionary = Dictionary()
        made = make_options(kind.options_type, name, dict(options))
        self.text = TextIndex(self.dictionary, made.text_structure)
        self.population = dict(population)
        table = encode_subscriptions(population.items(), self.dictionary)
        self.engine = updatable(kind, table, made)

    def insert(self, population: dict[int, Dnf]) -> None:
        assert not population.keys() & self.population.keys()
        self.population |= population
        self.engine.insert(encode_subscriptions(population.items(), self.dictionary))

    def remove(self, ids: list[int]) -> None:
        for identifier in ids:
            self.population.pop(identifier, None)
        self.engine.remove(np.array(ids, np.int32))

    def batch(self, stream: list[Event]) -> EventBatch:
        return self.text.extend(encode_events(stream, self.dictionary))

    def match(self, stream: list[Event]) -> list[set[int]]:
        """What the engine answers; each id must come once."""
        found = self.engine.match(self.batch(stream))
        assert len(found) == len(stream)
        answers = [found.of(i).tolist() for i in range(len(stream))]
        for ids in answers:
            assert len(ids) == len(set(ids)), "an id came twice"
        return [set(ids) for ids in answers]

    def expected(self, stream: list[Event]) -> list[set[int]]:
        """What the model says."""
        return [{i for i, dnf in self.population.items() if matches_dnf(dnf, event)} for event in stream]

    def check(self, stream: list[Event]) -> None:
        assert self.match(stream) == self.expected(stream)

    def size(self) -> tuple[int, int]:
        stats: EngineStats = self.engine.stats()
        return stats.subscriptions, stats.conjunctions
