"""Validity, operators, declared types, ids of both kinds, generated workloads, profiles."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
import tests.spark.loudness  # noqa: F401

import tamis.spark as ts
from tamis.candidates.statistics import read_profile
from tamis.errors import DataError
from tamis.matcher import Matcher
from tamis.spark.access import event_hashes, open_access
from tamis.spark.index import open_index, open_words


def at(day):
    return datetime(2024, 5, day, tzinfo=UTC)


@pytest.mark.parametrize("strategy", ["broadcast", "shuffle", "sql"])
def test_validity_is_honoured(spark, tmp_path, strategy):
    rows = [(1, "price > 0", None, None), (2, "price > 0", at(2), None), (3, "price > 0", None, at(2))]
    schema = "id long, filter string, valid_from timestamp, valid_until timestamp"
    ts.compile_index(spark.createDataFrame(rows, schema), tmp_path)
    events = spark.createDataFrame([("e1", at(1), 5), ("e2", at(2), 5)], "event_id string, time timestamp, price long")
    columns = ts.EventColumns(time="time")
    found = {tuple(row) for row in ts.match(events, tmp_path, columns=columns, strategy=strategy).collect()}
    assert found == {("e1", 1), ("e1", 3), ("e2", 1), ("e2", 2)}
    now = {tuple(row) for row in ts.match(events, tmp_path, now=at(1), strategy=strategy).collect()}
    assert now == {(event, sub) for event in ("e1", "e2") for sub in (1, 3)}


def test_operators_run_in_the_pipeline(spark, tmp_path):
    filters = {
        "loud": "kind = 'note' and tests_loudness(?n) and ?n > 3",
        "calm": "kind = 'note' and not tests_loudness(9)",
        "either": "price > 5 or tests_loudness(2)",
        "plain": "price > 5",
    }
    index = ts.compile_index(
        spark.createDataFrame(list(filters.items()), "id string, filter string"),
        tmp_path,
        operators=["tests.spark.loudness"],
        shard_size=2,
    )
    assert (index.manifest.subscriptions, index.manifest.tasks) == (4, 3)
    rows: list[dict[str, Any]] = [
        {"kind": "note", "text": "a!!!!"},
        {"kind": "note", "text": "b!!"},
        {"price": 9, "text": ""},
        {"text": "!!"},
    ]
    schema = "event_id long, kind string, text string, price long"
    events = spark.createDataFrame([(i, r.get("kind"), r["text"], r.get("price")) for i, r in enumerate(rows)], schema)
    matcher = Matcher("scan")
    matcher.subscribe_many(filters.items())
    expected = {(i, s) for i, ids in enumerate(matcher.match_many(rows)) for s in ids}
    assert {tuple(row) for row in ts.match(events, tmp_path).collect()} == expected
    assert len(expected) == 7
    with pytest.raises(DataError, match="use operators"):
        ts.match(events, tmp_path, strategy="shuffle")


def test_explain_tells_the_strategy(spark, tmp_path):
    ts.compile_index(spark.createDataFrame([("a", "price < 10")], "id string, filter string"), tmp_path)
    events = spark.createDataFrame([(1, 2, 3)], "event_id long, price long, other long")
    small, large = ts.plan(events, tmp_path), ts.plan(events, tmp_path, memory=0)
    assert (small.strategy, large.strategy) == ("broadcast", "shuffle")
    assert "exceeds" in str(large)
    assert small.columns == ["event_id", "price"]


def test_generated_rows_do_not_depend_on_partitions(spark, tmp_path):
    workload = ts.Workload(attributes=20, values=30, templates=4, per_event=6, predicates=3, around=0.7, seed=3)

    def rows(make, partitions):
        return sorted(map(str, make(spark, workload, 200, partitions).collect()))

    for make in (ts.generate_events, ts.generate_subscriptions, ts.generate_predicates):
        assert rows(make, 1) == rows(make, 3)
    events = ts.generate_events(spark, workload, 200)
    columns = ts.EventColumns(spread=("attributes",))
    ts.compile_index(ts.generate_subscriptions(spark, workload, 150), tmp_path / "text")
    ts.compile_index(ts.generate_predicates(spark, workload, 150), tmp_path / "rows")
    found = [
        sorted(map(tuple, ts.match(events, tmp_path / kind, columns=columns).collect())) for kind in ("text", "rows")
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 100


def test_profile(spark):
    schema = "event_id long, price double, tags array<string>, body string"
    rows = [(i, float(i % 50) if i % 4 else None, ["x", f"t{i % 3}"], f'{{"deep": {{"n": {i}}}}}') for i in range(400)]
    rows += [(999, float("nan"), [], "{}"), (1000, 1.0, [], "broken")]
    found = ts.profile(spark.createDataFrame(rows, schema).repartition(3), ts.EventColumns(json=("body",)))
    assert (found.events, found.malformed) == (402, 2)
    assert found.attributes["price"].present == 301
    assert found.attributes["price"].distinct == 50
    assert found.attributes["tags"].heavy["'x'"] == 400
    assert found.attributes["tags"].values == 800
    assert 350 <= found.attributes["deep.n"].distinct <= 450
    assert found.rarest_first()[0] == "price"
    assert found.attributes["price"].quantiles[-1] == 49


def test_a_profile_decides_the_access_keys(spark, tmp_path):
    """Of `common = x and rare = y` the rarer attribute is the key, though the constants alone say otherwise."""
    rows = [(i, f"common = {i} and rare = {i % 3}") for i in range(300)]
    subscriptions = spark.createDataFrame(rows, "id long, filter string")
    schema = "event_id long, common long, rare long"
    data = [(i, i % 4, (i % 3) if i % 100 == 0 else None) for i in range(1000)]
    events = spark.createDataFrame(data, schema)
    profile = ts.profile(events)
    assert profile.statistics()["attributes"]["rare"]["presence"] == 0.01
    expected = {(i, s) for i, common, rare in data for s in (common,) if rare is not None and rare == s % 3}
    asked = {}
    for name, known in (("blind", None), ("informed", profile)):
        place = tmp_path / name
        ts.compile_index(subscriptions, place, profile=known)
        for strategy in ("broadcast", "shuffle"):
            found = ts.match(events, place, strategy=strategy).collect()
            assert {tuple(row) for row in found} == expected
            assert len(found) == len(expected)
        index = open_index(place / "v000001")
        batch = ts.EventColumns().encode(events.toArrow().combine_chunks().to_batches()[0], index.dictionary).batch
        asked[name] = len(event_hashes(batch, open_access(place / "v000001")[0])[0])
        index.match(batch, np.zeros(len(batch), np.int64))
        asked[f"{name} candidates"] = index.shards[0].engine.stats().candidates
    assert asked["informed"] < asked["blind"] / 10
    assert asked["informed candidates"] <= asked["blind candidates"]


def test_an_engine_that_asks_for_statistics_gets_them(spark, tmp_path):
    """`static` is built by workers, from options that the manifest keeps."""
    subscriptions = spark.createDataFrame([(1, "kind = 'a' and n > 3"), (2, "n = 5")], "id long, filter string")
    schema = "event_id long, kind string, n long"
    events = spark.createDataFrame([(i, "a" if i % 2 else None, i % 5) for i in range(50)], schema)
    compiled = ts.compile_index(subscriptions, tmp_path, engine="static", profile=ts.profile(events))
    dictionary = open_words(tmp_path / compiled.manifest.version)[0]
    known = read_profile(compiled.manifest.options["profile"], dictionary)
    assert known[dictionary.ids["kind"]].chance(dictionary.key("a")) == 0.5
    assert known[dictionary.ids["n"]].chance(dictionary.key(3)) == 0.2
