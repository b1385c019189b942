"""Streams: exactly-once output, quarantine, a changing index, back-fill."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import functions as f

import tamis.spark as ts
from tamis.matcher import Matcher
from tamis.spark.stream import commits

WORKER = Path(__file__).with_name("stream_worker.py")
SUBSCRIPTIONS = "id string, filter string"
KILLS = int(os.environ.get("TAMIS_STREAM_KILLS", "1"))


def write_events(directory, name, events):
    directory.mkdir(exist_ok=True)
    fresh = directory / f".{name}"
    fresh.write_text("\n".join(event if isinstance(event, str) else json.dumps(event) for event in events))
    fresh.rename(directory / name)


def run(spark, source, index, output, **options):
    events = ts.json_events(spark.readStream.text(str(source)))
    query = ts.match_stream(events, index, output, columns=ts.JSON_EVENTS, available_now=True, **options)
    query.awaitTermination()


def pairs(spark, output):
    found = ts.read_output(spark, output).collect()
    assert len(found) == len({(row.event_id, row.subscription_id) for row in found})
    return {(row.event_id, row.subscription_id) for row in found}


def test_a_changing_index_quarantine_and_back_fill(spark, tmp_path):
    source, index, output = tmp_path / "source", tmp_path / "index", tmp_path / "output"
    first = spark.createDataFrame([("low", "price < 10"), ("any", "exists(price)")], SUBSCRIPTIONS)
    ts.compile_index(first, index)
    write_events(
        source, "a", [{"event_id": "e1", "price": 5}, {"event_id": "e2", "price": 50}, "not json", '{"a": 1e999}']
    )
    run(spark, source, index, output, retain=True)
    assert pairs(spark, output) == {("e1", "low"), ("e1", "any"), ("e2", "any")}
    errors = [row.error for row in ts.read_output(spark, output, "quarantine").collect()]
    assert len(errors) == 2
    assert any("not JSON" in error and "not json" in error for error in errors)

    second = spark.createDataFrame([("low", "price < 10"), ("high", "price > 20")], SUBSCRIPTIONS)
    ts.compile_index(second, index)
    write_events(source, "b", [{"event_id": "e3", "price": 30}])
    run(spark, source, index, output, retain=True)
    before = {("e1", "low"), ("e1", "any"), ("e2", "any"), ("e3", "high")}
    assert pairs(spark, output) == before
    assert [commit.version for commit in commits(output)] == ["v000001", "v000002"]

    assert ts.backfill(spark, index, output, columns=ts.JSON_EVENTS) == 1
    assert pairs(spark, output) == before | {("e2", "high")}
    assert ts.backfill(spark, index, output, columns=ts.JSON_EVENTS) == 0


def test_any_source_will_do(spark, tmp_path):
    """Rows as Kafka gives them (bytes among other columns), from a source that makes them itself."""
    index, output = tmp_path / "index", tmp_path / "output"
    ts.compile_index(spark.createDataFrame([("low", "price < 3"), ("odd", "price in (5, 7)")], SUBSCRIPTIONS), index)
    numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20).load()
    body = f.to_json(f.struct(f.col("value").alias("event_id"), (f.col("value") % 10).alias("price")))
    raw = numbers.select(body.cast("binary").alias("value"), f.lit("offers").alias("topic"))
    done = threading.Event()

    def told(commit):
        if commit.batch >= 2:
            done.set()

    query = ts.match_stream(
        ts.json_events(raw), index, output, columns=ts.JSON_EVENTS, interval="0 seconds", retain=True, on_batch=told
    )
    assert done.wait(120), query.exception()
    query.stop()
    seen = {int(row.event_id) for row in ts.read_output(spark, output, "events").collect()}
    assert seen >= set(range(40))
    wanted = {"low": (0, 1, 2), "odd": (5, 7)}
    assert pairs(spark, output) == {(str(e), s) for e in seen for s, prices in wanted.items() if e % 10 in prices}


@pytest.mark.parametrize("kills", [KILLS])
def test_killed_at_random_points_nothing_is_lost_or_doubled(spark, tmp_path, kills):
    """A query is killed with SIGKILL again and again; set TAMIS_STREAM_KILLS for more rounds."""
    source, index, output = tmp_path / "source", tmp_path / "index", tmp_path / "output"
    chance = random.Random(5)
    filters = {f"s{i}": f"kind = 'k{i % 7}' and price > {chance.randrange(100)}" for i in range(40)}
    ts.compile_index(spark.createDataFrame(list(filters.items()), SUBSCRIPTIONS), index)
    events = [
        {"event_id": f"e{i}", "kind": f"k{chance.randrange(9)}", "price": chance.randrange(100)} for i in range(600)
    ]
    for n in range(12):
        write_events(source, f"f{n}", events[n * 50 : n * 50 + 50])
    command = [sys.executable, str(WORKER), str(source), str(index), str(output)]
    for _ in range(kills):
        done = len(commits(output))
        process = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + 300
            while len(commits(output)) <= done and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.05)
            time.sleep(chance.random() * 1.5)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    last = subprocess.run(command, check=False, timeout=600, capture_output=True, text=True)
    assert (last.returncode, last.stderr) == (0, "")  # a session says nothing of its own accord
    matcher = Matcher("scan")
    matcher.subscribe_many(filters.items())
    expected = {(e["event_id"], s) for e, ids in zip(events, matcher.match_many(events), strict=True) for s in ids}
    assert pairs(spark, output) == expected
