"""Every index against the definition: predicate by predicate, on attributes with and without a declared domain."""

import random

import numpy as np
import pytest

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.model.predicate import Op, Predicate
from tamis.model.schema import Attribute, EnumDomain, IntDomain, PlainDomain, PublicationType
from tamis.model.subscription import Literal
from tamis.predicates.holds import predicate_holds
from tamis.predicates.stage import INDEXES, Stage, clear, satisfy

TYPE = PublicationType(
    [
        Attribute("level", IntDomain(-3, 12), many=True),
        Attribute("colour", EnumDomain(("red", "green", "blue"))),
        Attribute("grade", EnumDomain((1, 2.5, "x"))),
        Attribute("flag", PlainDomain("bool")),
        Attribute("free", PlainDomain("float"), many=True),
    ]
)
COMPARISONS = [Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE]


def value(chance, name):
    pools = {
        "level": list(range(-3, 13)),
        "colour": ["red", "green", "blue"],
        "grade": [1, 2.5, "x"],
        "flag": [True, False],
        "free": [*range(-5, 6), 0.5, -0.0, -1.5, 7.25, 100],
    }
    return chance.choice(pools[name])


def literal(chance):
    name = chance.choice(list(TYPE.attributes))
    kind = chance.random()
    if kind < 0.6:
        op = chance.choice(COMPARISONS if name in ("level", "free") else [Op.EQ, Op.NE])
        return Literal(Predicate(name, op, (value(chance, name),)), chance.random() < 0.2)
    if kind < 0.75 and name in ("level", "free"):
        return Literal(Predicate(name, Op.BETWEEN, tuple(sorted((value(chance, name), value(chance, name))))))
    if kind < 0.9:
        return Literal(Predicate(name, Op.IN, tuple(value(chance, name) for _ in range(3))), chance.random() < 0.3)
    return Literal(Predicate(name, chance.choice([Op.EXISTS, Op.MISSING])))


def event(chance):
    names = chance.sample(list(TYPE.attributes), chance.randint(0, 5))
    many = {name: chance.choice([1, 1, 2, 3]) if TYPE.attributes[name].many else 1 for name in names}
    return {name: tuple(value(chance, name) for _ in range(many[name])) for name in names}


def satisfied(stage, batch, i):
    work = stage.prepare(batch)
    n = satisfy(stage.indexes(), work, batch.attrs, batch.keys, batch.offsets[i], batch.offsets[i + 1])
    found = work.satisfied[:n].tolist()
    bits = [p for p in range(stage.registry.made) if work.bits[p >> 6] >> np.uint64(p & 63) & np.uint64(1)]
    clear(work, n)
    assert not work.bits.any()
    assert sorted(found) == bits
    return set(found)


def expected(stage, batch, i):
    c, answer = stage.registry.columns, set()
    first, last = batch.offsets[i], batch.offsets[i + 1]
    for p in np.flatnonzero(c.refs[: stage.registry.made]):
        at = first + np.flatnonzero(batch.attrs[first:last] == c.attr[p])
        begin, end = (at[0], at[-1] + 1) if len(at) else (0, 0)
        if predicate_holds(c.op[p], c.lo[p], c.hi[p], c.sets, batch.keys, begin, end):
            answer.add(int(p))
    return answer


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_every_index_finds_what_the_definition_says(index, declared, seed):
    chance = random.Random(seed)
    dictionary = Dictionary(type=TYPE if declared else None)
    stage, held = Stage(index, dictionary), []
    for _ in range(4):
        terms = [(n, (tuple(literal(chance) for _ in range(chance.randint(1, 4))),)) for n in range(40)]
        offsets, ids, _ = stage.acquire(encode_subscriptions(terms, dictionary))
        held += [ids[offsets[n] : offsets[n + 1]] for n in range(40)]
        for _ in range(25):
            stage.release(held.pop(chance.randrange(len(held))))
        batch = encode_events([event(chance) for _ in range(25)], dictionary)
        for i in range(len(batch)):
            assert satisfied(stage, batch, i) == expected(stage, batch, i)
    total = sum(len(expected(stage, batch, i)) for i in range(len(batch)))
    assert stage.count(batch) == total == stage.frequencies(batch).sum()
    if index == "table":
        assert stage.details()["attributes with a table"] >= (4 if declared else 1)
        assert stage.details()["tables over a range seen, not declared"] >= (0 if declared else 1)


def test_a_range_seen_grows_with_its_constants_and_wide_ones_get_no_table():
    dictionary = Dictionary()
    stage = Stage("table", dictionary)

    def add(*constants):
        terms = [(n, ((Literal(Predicate("n", Op.EQ, (v,))),),)) for n, v in enumerate(constants)]
        stage.acquire(encode_subscriptions(terms, dictionary))

    add(5)
    assert stage.tables.width[0] == 1
    add(100, 3)
    assert stage.tables.low[0] <= 3
    assert stage.tables.low[0] + stage.tables.width[0] > 100
    add(10**9)
    batch = encode_events([{"n": (v,)} for v in (3, 5, 100, 10**9, 4)], dictionary)
    assert [len(satisfied(stage, batch, i)) for i in range(5)] == [1, 1, 1, 1, 0]
    assert stage.tables.width[0] < 1000
