"""Every strategy gives what `Matcher` gives, on any partitioning."""

import json
import random

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f
from tests.contract.worlds import event, predicate

import tamis.spark as ts
from tamis.errors import DataError, TamisError
from tamis.lang.print import show_dnf
from tamis.matcher import Matcher
from tamis.model.subscription import Literal
from tamis.spark.files import row_groups


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


@pytest.mark.parametrize("strategy", ["broadcast", "shuffle"])
def test_matches_are_written_as_files(spark, compiled, tmp_path, strategy):
    place, events, expected = compiled
    bad = spark.createDataFrame([(1000, "no object"), (1001, '{"a": 1e999}')], events.schema)
    options: ts.MatchOptions = {"strategy": strategy, "columns": ts.EventColumns(json=("body",)), "on_error": "keep"}
    written = ts.write_matches(events.union(bad), place, tmp_path / "found", **options)
    assert written == ts.Written(len(expected), 2)
    found = spark.read.parquet(str(tmp_path / "found" / "matches")).collect()
    assert len(found) == len(expected)
    assert {(row.event_id, row.subscription_id) for row in found} == expected
    malformed = spark.read.parquet(str(tmp_path / "found" / "malformed")).collect()
    assert {row.event_id for row in malformed} == {1000, 1001}
    assert all(row.error for row in malformed)
    with pytest.raises(DataError, match="exists already"):
        ts.write_matches(events, place, tmp_path / "found", **options)


def test_workers_read_files_of_events(spark, compiled, tmp_path):
    """From one file, from many with several row groups, from a directory that only Spark can read."""
    place, events, expected = compiled
    columns = ts.EventColumns(json=("body",), ignore=("day",))
    rows = events.withColumn("day", f.col("event_id") % 2)
    rows.repartition(3).sortWithinPartitions("event_id").write.parquet(str(tmp_path / "many"))
    pq.write_table(events.toArrow(), tmp_path / "one.parquet", row_group_size=7)
    rows.write.partitionBy("day").parquet(str(tmp_path / "days"))
    for name in ("many", "one.parquet", "days"):
        chosen = columns if name != "one.parquet" else ts.EventColumns(json=("body",))
        written = ts.write_matches(tmp_path / name, place, tmp_path / f"of {name}", columns=chosen)
        found = pq.read_table(tmp_path / f"of {name}" / "matches").to_pylist()
        assert written.matches == len(found) == len(expected)
        assert {(row["event_id"], row["subscription_id"]) for row in found} == expected
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no Parquet files"):
        row_groups(tmp_path / "empty", 2)
    dealt = row_groups(tmp_path / "one.parquet", 4)
    assert dealt is not None
    assert sorted(len(groups) for groups in dealt) == [3, 3, 3, 3]


def test_a_failed_write_leaves_nothing(spark, compiled, tmp_path):
    place, events, _ = compiled
    bad = spark.createDataFrame([(1000, "no object")], events.schema)
    with pytest.raises(Exception, match="event 1000: not JSON"):
        ts.write_matches(events.union(bad), place, tmp_path / "found", columns=ts.EventColumns(json=("body",)))
    assert not list(tmp_path.iterdir())


def test_an_unknown_option_is_named(compiled):
    place, events, _ = compiled
    with pytest.raises(DataError, match="no option 'stratgy'; did you mean 'strategy'"):
        ts.match(events, place, stratgy="sql")  # type: ignore[call-arg]
