"""Every strategy gives what `Matcher` gives, on any partitioning."""

import json
import random

import pytest
from tests.contract.worlds import event, predicate

import tamis.spark as ts
from tamis.errors import TamisError
from tamis.lang.print import show_dnf
from tamis.matcher import Matcher
from tamis.model.subscription import Literal


def world(seed, subscriptions=60, events=80):
    """Random filters that the language can say, and random events as JSON-like rows."""
    chance = random.Random(seed)
    matcher = Matcher("scan")
    wanted: list[tuple[str, str]] = []
    while len(wanted) < subscriptions:
        terms = tuple(
            tuple(Literal(predicate(chance), chance.random() < 0.2) for _ in range(chance.randint(1, 3)))
            for _ in range(chance.choice([1, 1, 1, 2]))
        )
        try:
            matcher.subscribe(f"s{len(wanted)}", show_dnf(terms))
        except TamisError:
            continue
        wanted.append((f"s{len(wanted)}", show_dnf(terms)))
    stream = [event(chance) for _ in range(events)]
    found = matcher.match_many([{name: list(values) for name, values in e.items()} for e in stream])
    expected = {(i, s) for i, ids in enumerate(found) for s in ids}
    return wanted, stream, expected


def as_json(spark, stream):
    rows = [(i, json.dumps({name: list(values) for name, values in e.items()})) for i, e in enumerate(stream)]
    return spark.createDataFrame(rows, "event_id long, body string")


@pytest.fixture(scope="module", params=[(1, 1), (2, 5)], ids=["1 partition", "5 partitions"])
def compiled(request, spark, tmp_path_factory):
    """A random world, compiled: with many partitions into several shards."""
    seed, partitions = request.param
    wanted, stream, expected = world(seed)
    place = tmp_path_factory.mktemp("index")
    subscriptions = spark.createDataFrame(wanted, "id string, filter string").repartition(partitions)
    ts.compile_index(subscriptions, place, shard_size=25 if partitions > 1 else 1000)
    return place, as_json(spark, stream).repartition(partitions), expected


@pytest.mark.parametrize("strategy", ["broadcast", "shuffle", "sql", "sql-grouping"])
def test_equals_the_matcher(compiled, strategy):
    place, events, expected = compiled
    found = ts.match(events, place, strategy=strategy, columns=ts.EventColumns(json=("body",))).collect()
    pairs = {(row.event_id, row.subscription_id) for row in found}
    assert len(found) == len(pairs)
    assert pairs == expected
    assert pairs
