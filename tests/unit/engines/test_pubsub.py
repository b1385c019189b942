"""PUBSUB: what structures and buckets promise, the choice of D, the order of attributes, and unkind input."""

import random

import numpy as np
import pytest

from tamis.candidates.buckets.layout import HEADER
from tamis.candidates.buckets.ways import hull
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.keys import KEY_MAX, KEY_MIN
from tamis.encoding.subscriptions import SubscriptionTable, encode_subscriptions
from tamis.engines import pubsub
from tamis.engines.pubsub import PubsubEngine, PubsubOptions
from tamis.errors import EngineError
from tamis.matcher import Matcher
from tamis.model.event import Event
from tamis.model.predicate import Op, Predicate
from tamis.model.schema import IntDomain, PublicationType
from tamis.model.subscription import Literal


def ask(*predicates):
    return (tuple(Literal(p) for p in predicates),)


def between(name, lo, hi):
    return Predicate(name, Op.BETWEEN, (lo, hi))


def check(engine: PubsubEngine) -> None:
    """Totals add up, every row stands once under its own first attributes, and what is open is full."""
    s, c = engine.structures, engine.rows.columns
    seen: list[int] = []
    counts = [0, 0]

    def bucket(b: int, above: list[int]) -> int:
        counts[0] += 1
        cells = range(s.b_start[b], s.b_start[b] + s.b_size[b])
        keys = [(int(s.attr[i]), int(s.lo[i])) for i in cells]
        assert not engine.ordered or keys == sorted(keys)
        for i in cells:
            row = int(s.row[i])
            names = c.attrs[c.first[row] : c.first[row] + engine.leading[row]].tolist()
            assert names[: len(above)] == above
            assert s.attr[i] == (names[len(above)] if len(names) > len(above) else -1)
            assert s.place[row] == b
            seen.append(row)
        total, z, width = int(s.b_size[b]), int(s.b_below[b]), 0
        while z >= 0:
            total, z, width = total + structure(z, b, above), int(s.z_next[z]), width + 1
        assert (s.b_total[b], s.b_width[b]) == (total, width)
        assert b == HEADER or (s.b_opened[b] == 1) == (total > engine.capacity)
        return total

    def structure(z: int, b: int, above: list[int]) -> int:
        counts[1] += 1
        assert s.z_bucket[z] == b
        total, each, buckets = 0, int(s.z_first[z]), 0
        while each >= 0:
            assert s.b_structure[each] == z
            total, buckets = total + bucket(each, [*above, int(s.z_attr[z])]), buckets + 1
            each = int(s.b_next[each])
        assert s.z_total[z] == total > 0
        assert (s.z_open[z] == 1) == (total > engine.capacity)
        assert s.z_open[z] or buckets == 1
        return total

    assert bucket(HEADER, []) == engine.rows.live
    assert sorted(seen) == engine.rows.live_rows().tolist()
    details = engine.stats().details
    assert (details["buckets"], details["structures"]) == tuple(counts)


@pytest.mark.parametrize("structure", ["auto", "it", "rbpst", "hash"])
@pytest.mark.parametrize("size", [1, 4, 300])
def test_structure_under_churn_is_that_of_a_fresh_engine(structure, size):
    chance = random.Random(size)
    dictionary = Dictionary(type=PublicationType({"a": IntDomain(0, 99)}))
    for name in "abcdef":
        dictionary.attribute(name)
    dnfs = {}

    def table(ids):
        for i in ids:
            names = chance.sample("abcdef", chance.randint(1, 3))
            ends = [sorted((chance.randrange(20), chance.randrange(20))) for _ in names]
            dnfs[i] = ask(*(between(n, lo, lo if n == "f" else hi) for n, (lo, hi) in zip(names, ends, strict=True)))
        return encode_subscriptions([(i, dnfs[i]) for i in ids], dictionary)

    options = PubsubOptions(bucket_size=size, structure=structure)
    engine = PubsubEngine.build(SubscriptionTable.empty(dictionary), options)
    engine.insert(table(range(400)))
    held = set(range(400))
    for _ in range(6):
        check(engine)
        gone = chance.sample(sorted(held), chance.randint(0, len(held)))
        engine.remove(np.array(gone, np.int32))
        held -= set(gone)
        check(engine)
        new = [i for i in chance.sample(range(500), 80) if i not in held]
        engine.insert(table(new))
        held |= set(new)
    fresh = PubsubEngine.build(SubscriptionTable.empty(dictionary), options)
    fresh.insert(encode_subscriptions([(i, dnfs[i]) for i in sorted(held)], dictionary))
    mine, its = engine.stats().details, fresh.stats().details
    assert (mine["buckets"], mine["structures"]) == (its["buckets"], its["structures"])
    engine.remove(np.array(sorted(held), np.int32))
    check(engine)
    assert engine.stats().details["buckets"] == 1


@pytest.mark.parametrize(
    ("lo", "hi", "expected"),
    [
        (5, 5, (5, 5)),
        (4, 7, (4, 7)),
        (3, 4, (0, 7)),
        (-1, 0, (KEY_MIN, KEY_MAX)),
        (-4, -1, (-4, -1)),
        (KEY_MIN, KEY_MAX, (KEY_MIN, KEY_MAX)),
    ],
)
def test_hull(lo, hi, expected):
    assert hull(lo, hi) == expected


def test_each_attribute_gets_the_structure_that_suits_it():
    dictionary = Dictionary(type=None)
    dictionary.type = PublicationType({"n": IntDomain(0, 9)})
    table = encode_subscriptions(
        [
            (0, ask(between("n", 1, 2), Predicate("code", Op.EQ, (7,)))),
            (1, ask(between("price", 1.5, 2.5), Predicate("title", Op.CONTAINS, ("ab",)))),
        ],
        dictionary,
    )
    kinds = PubsubEngine.build(table, PubsubOptions()).stats().details["attributes_by_structure"]
    assert kinds == {"hash": 1, "it": 1, "rbpst": 2, "ac": 1}  # the title itself is asked nothing


@pytest.mark.parametrize("text", ["ac", "suffix"])
def test_the_structure_of_text_attributes_is_a_choice(text):
    matcher = Matcher("pubsub", text=text)
    matcher.subscribe("part", "title contains 'nan'")
    matcher.subscribe("start", "title starts with 'ban' and price < 5")
    matcher.subscribe("end", "title ends with 'ana'")
    matcher.subscribe("not", "not (title contains 'an')")
    assert sorted(matcher.match({"title": "banana", "price": 4})) == ["end", "part", "start"]
    assert matcher.match({"title": "kiwi"}) == ["not"]
    kinds = matcher.stats().details["attributes_by_structure"]
    assert (kinds[text], {"ac", "suffix"} & kinds.keys()) == (4, {text})


def test_rarest_attribute_comes_first_and_the_order_is_renewed(monkeypatch):
    monkeypatch.setattr(pubsub, "FIRST_RANKING", 4)
    dictionary = Dictionary()
    often = [(i, ask(between("often", i, i), between(f"rare{i}", 0, 1))) for i in range(30)]
    engine = PubsubEngine.build(encode_subscriptions(often[:4], dictionary), PubsubOptions())
    assert engine.stats().details["structures"] == 4
    for one in often[4:]:
        engine.insert(encode_subscriptions([one], dictionary))
    details = engine.stats().details
    assert details["rankings"] == 1
    assert details["structures"] == 30
    found = engine.match(encode_events([{"often": (7,), "rare7": (0,)}], dictionary))
    assert found.ids.tolist() == [7]


@pytest.mark.parametrize("structure", ["it", "rbpst"])
def test_strings_under_numeric_structures(structure):
    dictionary = Dictionary()
    population = [ask(Predicate("x", Op.EQ, (v,))) for v in ("a", "b", 1, True, 2.5)]
    options = PubsubOptions(bucket_size=1, structure=structure)
    engine = PubsubEngine.build(encode_subscriptions(enumerate(population), dictionary), options)
    events: list[Event] = [{"x": (v,)} for v in ("a", "b", 1, True, 2.5, "c", 0)]
    found = engine.match(encode_events(events, dictionary))
    assert [found.of(i).tolist() for i in range(len(events))] == [[0], [1], [2], [3], [4], [], []]


@pytest.mark.parametrize("structure", ["it", "rbpst", "hash"])
def test_empty_intervals_stand_somewhere_and_match_nothing(structure):
    dictionary = Dictionary()
    population = [ask(between("x", 5, 1)), ask(between("x", 1, 5)), ask(between("x", 90, -90))]
    options = PubsubOptions(bucket_size=1, structure=structure)
    engine = PubsubEngine.build(encode_subscriptions(enumerate(population), dictionary), options)
    check(engine)
    assert engine.match(encode_events([{"x": (3,)}], dictionary)).ids.tolist() == [1]


def test_refuses_unknown_words():
    with pytest.raises(EngineError, match="profile 'event' is not one of events, balanced, churn"):
        PubsubOptions(profile="event")
    with pytest.raises(EngineError, match="structure 'btree'"):
        PubsubOptions(structure="btree")
    with pytest.raises(EngineError, match="text 'sufix' is not one of ac, suffix"):
        PubsubOptions(text="sufix")
    with pytest.raises(EngineError, match="bucket_size = 0"):
        PubsubOptions(bucket_size=0)
