"""The choice of an engine: what it looks at, how it decides, what it says, and that answers never depend on it."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from tamis.bench.recommend import judged, write_table
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import SubscriptionTable, encode_subscriptions
from tamis.engines.registry import ENGINES
from tamis.errors import BindError, EngineError, EventError
from tamis.lang import normalise, parse
from tamis.matcher import Matcher
from tamis.matcher.advice import Measured, Sample, choose, table
from tamis.matcher.features import Features, features
from tamis.model.schema import IntDomain, PublicationType

PLAIN = Features(
    subscriptions=1000,
    attributes=10,
    predicates=3,
    equality=0.5,
    presence=0.0,
    constants=20,
    pairs=10,
    holds=0.1,
    rarest=0.01,
    matches=5,
    batch=1,
    updates=0.0,
)


def looked_at(filters, events, **use):
    dictionary = Dictionary()
    subscriptions = encode_subscriptions([(i, normalise(parse(f))) for i, f in enumerate(filters)], dictionary)
    batch = encode_events([{k: (v,) for k, v in event.items()} for event in events], dictionary) if events else None
    return features(subscriptions, batch, **use)


def test_features_of_a_small_workload():
    told = looked_at(
        ["a = 1 and b > 5", "a = 2", "exists(c)", "a = 1 and b = 3"],
        [{"a": 1, "b": 9}, {"a": 1}, {"b": 3, "c": 1}, {"a": 2, "b": 3}],
        batch=7,
        updates=0.5,
    )
    assert (told.subscriptions, told.attributes, told.predicates) == (4, 3, 6 / 4)
    assert (told.equality, told.presence) == (4 / 6, 1 / 6)
    assert told.constants == 4 / 3  # a: 1 and 2; b: above 5 and 3
    assert told.pairs == 7 / 4
    assert told.holds == pytest.approx((2 + 1 + 1 + 1 + 2 + 2) / 4 / 6)
    assert told.rarest == pytest.approx((1 + 1 + 1 + 2) / 4 / 4)
    assert told.matches == 3 / 4
    assert (told.batch, told.updates) == (7, 0.5)


def test_features_without_events_or_subscriptions():
    assert looked_at(["a = 1"], []).matches is None
    empty = features(SubscriptionTable.empty(Dictionary()), None)
    assert (empty.subscriptions, empty.predicates, empty.pairs) == (0, 0, None)


def test_the_nearest_workloads_decide():
    few, many = replace(PLAIN, subscriptions=1000), replace(PLAIN, subscriptions=1_000_000)
    rows = [Measured(i, few, {"scan": 1.0, "tamis": 4.0}) for i in range(10)]
    rows += [Measured(10 + i, many, {"scan": 4000.0, "tamis": 4.0}) for i in range(10)]
    small, large = choose(replace(PLAIN, subscriptions=2000), rows), choose(replace(PLAIN, subscriptions=500_000), rows)
    assert (small.engine, large.engine) == ("scan", "tamis")
    assert small.costs == pytest.approx({"scan": 1.0, "tamis": 4.0})
    assert "scan: cheapest on the 7 measured workloads" in small.reason
    assert "2,000 subscriptions" in small.reason
    assert "next is tamis, 4.0 times its cost" in small.reason


def test_unknown_features_are_left_out_of_the_comparison():
    rows = [Measured(i, replace(PLAIN, matches=1e6, pairs=40), {"scan": 1.0}) for i in range(7)]
    rows += [Measured(7 + i, replace(PLAIN, subscriptions=1100), {"tamis": 1.0}) for i in range(7)]
    assert choose(PLAIN, rows).engine == "tamis"
    unseen = replace(PLAIN, pairs=None, holds=None, rarest=None, matches=None)
    assert choose(unseen, rows).engine == "scan"
    assert "no events seen" in choose(unseen, rows).reason


def test_an_engine_too_slow_to_be_measured_counts_as_slow():
    rows = [Measured(0, PLAIN, {"tamis": 2.0, "scan": 1.9}), Measured(1, PLAIN, {"tamis": 2.0})]
    assert choose(PLAIN, rows).engine == "tamis"


def test_nothing_known_means_the_default():
    matcher = Matcher("auto")
    assert matcher.match({"a": 1}) == []
    assert matcher.engine_name == "tamis"
    assert matcher.choice is not None
    assert matcher.choice.reason == "tamis, the default: nothing is known of the subscriptions yet"
    matcher.subscribe("later", "a = 1")
    assert matcher.match({"a": 1}) == ["later"]


def test_the_choice_is_the_same_every_time_and_told_in_stats():
    chosen = set()
    for _ in range(2):
        matcher = Matcher("auto", sample=[{"a": i, "b": 1} for i in range(20)])
        matcher.subscribe_many((i, f"a = {i % 50} and b < {i % 7}") for i in range(500))
        matcher.match({"a": 1})
        assert matcher.choice is not None
        assert matcher.choice.engine == matcher.engine_name in ENGINES
        assert matcher.stats().details["choice"] == matcher.choice.reason
        chosen.add(matcher.choice.reason)
    assert len(chosen) == 1
    assert "500 subscriptions, 2.0 predicates each, 50% of them equalities, 2 attributes per event" in chosen.pop()


def test_sampled_subscriptions_and_expected_numbers_stand_in_for_what_is_not_there_yet():
    sample = Sample(subscriptions=[(i, f"a = {i} and b = 2") for i in range(100)], expected=1_000_000, batch=1000)
    matcher = Matcher("auto", sample=sample)
    matcher.match({})
    assert matcher.choice is not None
    assert "1,000,000 subscriptions" in matcher.choice.reason
    assert "1,000 events per call" in matcher.choice.reason
    assert len(matcher) == 0


def test_samples_keep_to_the_type():
    known = PublicationType({"a": IntDomain(0, 9)})
    matcher = Matcher("auto", type=known, sample=Sample([{"a": 3}], [("x", "a > 2"), ("y", "a = 5")]))
    matcher.match({"a": 1})
    assert matcher.choice is not None
    assert "2 subscriptions, 1.0 predicates each" in matcher.choice.reason
    with pytest.raises(BindError):
        Matcher("auto", type=known, sample=Sample(subscriptions=[("x", "b > 2")])).match({})
    with pytest.raises(EventError):
        Matcher("auto", type=known, sample=[{"a": 77}]).match({})


def test_answers_are_those_of_scan():
    chance = random.Random(4)
    events = [{n: chance.randrange(6) for n in chance.sample("abcd", 3)} for _ in range(50)]
    filters = [
        " and ".join(f"{n} {chance.choice(['=', '<', '>='])} {chance.randrange(6)}" for n in chance.sample("abcd", 2))
        for _ in range(200)
    ]
    filters += ["missing(a)", "a in (1, 2) or not (b = 3)", "exists(d) and title contains 'x'"]
    auto, scan = Matcher("auto", sample=events[:10]), Matcher("scan")
    for matcher in (auto, scan):
        matcher.subscribe_many(enumerate(filters))
    assert list(map(sorted, auto.match_many(events))) == list(map(sorted, scan.match_many(events)))
    for matcher in (auto, scan):
        for i in range(0, 200, 3):
            matcher.unsubscribe(i)
    assert list(map(sorted, auto.match_many(events))) == list(map(sorted, scan.match_many(events)))


def test_a_saved_matcher_keeps_what_was_chosen(tmp_path):
    matcher = Matcher("auto")
    matcher.subscribe_many((i, f"a = {i}") for i in range(50))
    matcher.save(tmp_path / "saved")
    again = Matcher.load(tmp_path / "saved")
    assert again.engine_name == matcher.engine_name
    assert again.match({"a": 7}) == [7]


def test_refuses_what_it_cannot_use():
    with pytest.raises(EngineError, match="engine 'auto' has no option 'smaple'; did you mean 'sample'"):
        Matcher("auto", smaple=[])
    with pytest.raises(EngineError, match="sample takes a Sample or a list of events, not int"):
        Matcher("auto", sample=3)
    with pytest.raises(EngineError, match=r"sample.batch = 0"):
        Sample(batch=0)
    with pytest.raises(EngineError, match=r"sample.updates = -1"):
        Sample(updates=-1)
    with pytest.raises(EngineError, match=r"sample.expected = -1"):
        Sample(expected=-1)


def test_the_shipped_table_is_whole():
    rows = table()
    assert len(rows) >= 30
    assert len({row.seed for row in rows}) == len(rows)
    for row in rows:
        assert row.cost.keys() <= ENGINES.keys()
        assert min(row.cost.values()) > 0
        assert None not in {row.features.pairs, row.features.matches}


def test_a_written_table_is_read_back(tmp_path):
    told = {name: getattr(PLAIN, name) for name in Features.__slots__}
    rows = [{"seed": seed, "features": told, "cost": {"tamis": 2.5, "scan": 5.0}} for seed in (2, 1)]
    write_table(rows, tmp_path / "table.toml")
    assert table(tmp_path / "table.toml") == tuple(Measured(s, PLAIN, {"tamis": 2.5, "scan": 5.0}) for s in (1, 2))
    outcome = judged(json.loads(json.dumps(rows)), table(tmp_path / "table.toml"))
    assert [(one["chosen"], one["best"], one["ratio"]) for one in outcome] == [("tamis", "tamis", 1.0)] * 2
    assert np.isfinite([one["ratio"] for one in outcome]).all()
