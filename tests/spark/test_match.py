"""Every strategy gives what `Matcher` gives, on any partitioning."""

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
    import json

    rows = [(i, json.dumps({name: list(values) for name, values in e.items()})) for i, e in enumerate(stream)]
    return spark.createDataFrame(rows, "event_id long, body string")


@pytest.mark.parametrize("strategy", ["broadcast", "shuffle", "sql", "sql-grouping"])
@pytest.mark.parametrize(("seed", "partitions"), [(1, 1), (2, 5)])
def test_equals_the_matcher(spark, strategy, seed, partitions, tmp_path):
    wanted, stream, expected = world(seed)
    subscriptions = spark.createDataFrame(wanted, "id string, filter string").repartition(partitions)
    events = as_json(spark, stream).repartition(partitions)
    ts.compile_index(subscriptions, tmp_path / "index", shard_size=25 if partitions > 1 else 1000)
    columns = ts.EventColumns(json=("body",))
    found = ts.match(events, tmp_path / "index", strategy=strategy, columns=columns).collect()
    pairs = {(row.event_id, row.subscription_id) for row in found}
    assert len(found) == len(pairs)
    assert pairs == expected
    assert pairs
