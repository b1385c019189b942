"""Random worlds (subscriptions and events over a small alphabet, so that matches happen) and an engine held to the model."""

from hypothesis import strategies as st

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, encode_events
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.engines.base import EngineStats, make_options
from tamis.engines.rebuild import updatable
from tamis.engines.registry import engine_class
from tamis.model.evaluate import matches_dnf
from tamis.model.event import Event
from tamis.model.predicate import ORDER_OPS, PATTERN_OPS, Op, Predicate
from tamis.model.subscription import Conjunction, Dnf, Literal
from tamis.predicates.text import TextIndex

import numpy as np

ATTRIBUTES = ["a", "b", "c", "d", "e.f"]
NUMBERS = [*range(-2, 7), 0.5, 2.0, -0.0, 1e300, 2**53, 2**53 + 1, 2.0**53, -(2**60) - 1, 2**63 - 1, -(2**63)]
STRINGS = ["", "a", "ab", "b", "Sony", "SONY", "straße", "x%y", "日本"]
PATTERNS = ["", "a", "A%", "%n_", "_b", "S.*y$", "^a", "on", "日"]

numbers = st.sampled_from(NUMBERS)
small = st.integers(0, 6)
values = st.one_of(small, small, numbers, st.sampled_from(STRINGS), st.booleans())
present = st.one_of(values.map(lambda v: (v,)), values.map(lambda v: (v,)), st.lists(values, min_size=1, max_size=3).map(tuple))
events = st.dictionaries(st.sampled_from(ATTRIBUTES), present, max_size=5)


@st.composite
def predicates(draw):
    attribute, op = draw(st.sampled_from(ATTRIBUTES)), draw(st.sampled_from([Op.EQ, Op.LE, Op.BETWEEN, *Op]))
    nocase = draw(st.integers(0, 9)) == 0
    if op in (Op.EXISTS, Op.MISSING):
        return Predicate(attribute, op)
    if op in (Op.IN, Op.NOT_IN):
        return Predicate(attribute, op, tuple(draw(st.lists(values, min_size=1, max_size=4))), nocase)
    if op is Op.BETWEEN:
        return Predicate(attribute, op, tuple(sorted([draw(small), draw(small)])))
    if op in PATTERN_OPS:
        return Predicate(attribute, op, (draw(st.sampled_from(PATTERNS)),), nocase)
    return Predicate(attribute, op, (draw(values if op not in ORDER_OPS else st.one_of(small, values)),), nocase)


literals = st.builds(Literal, predicates(), st.integers(0, 4).map(lambda n: n == 0))
conjunctions: st.SearchStrategy[Conjunction] = st.lists(literals, max_size=4).map(tuple)
dnfs: st.SearchStrategy[Dnf] = st.lists(conjunctions, max_size=3).map(tuple)
populations = st.lists(dnfs, max_size=12)
streams = st.lists(events, max_size=6)


class World:
    """An engine and the dict that says what it must answer."""

    def __init__(self, variant: tuple[str, dict[str, object]], population: dict[int, Dnf]) -> None:
        name, options = variant
        kind = engine_class(name)
        self.dictionary = Dictionary()
        self.text = TextIndex(self.dictionary)
        self.population = dict(population)
        table = encode_subscriptions(population.items(), self.dictionary)
        self.engine = updatable(kind, table, make_options(kind.options_type, name, dict(options)))

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
