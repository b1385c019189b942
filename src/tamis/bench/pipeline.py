"""The pipeline on Spark, measured from Parquet to Parquet on this machine, its matches held to plain array arithmetic."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tamis.bench.measure import timed
from tamis.errors import Disagreement, MissingExtra

CHECKED = 20
ROUNDS = {"broadcast": 3, "shuffle": 3, "stream": 2}
"""Where the first round starts workers and loads kernels, it is not counted. The others are baselines, and slow: they run
once, in a session that others have warmed up."""


def measure(given: dict[str, Any]) -> list[dict[str, Any]]:
    """A row per strategy: in bulk, or as a stream. `crossed` bounds the events that the function on every pair gets."""
    try:
        from tamis.spark import local_session
    except ModuleNotFoundError as problem:
        raise MissingExtra("the pipeline", "spark") from problem
    spark = local_session("local[2]", "2g")
    place = Path(tempfile.mkdtemp(prefix="tamis-bench-spark-"))
    try:
        compiled = prepare(spark, place, given)
        return [measured(spark, place, given, strategy, compiled) for strategy in given["strategies"]]
    finally:
        spark.stop()
        shutil.rmtree(place, ignore_errors=True)


def measured(spark: Any, place: Path, given: dict[str, Any], strategy: str, compiled: float) -> dict[str, Any]:
    """Times and rates of a strategy, its matches checked."""
    from tamis.spark import read_output

    events = min(given["events"], given.get("crossed", given["events"])) if strategy == "udf" else given["events"]
    rounds = ROUNDS.get(strategy, 1)
    run = stream if strategy == "stream" else bulk
    seconds = [timed(lambda n=n: run(spark, place, f"{strategy}-{n}", strategy, events)) for n in range(rounds)]  # type: ignore[misc]
    target = place / f"{strategy}-{rounds - 1}"
    found = read_output(spark, target) if strategy == "stream" else spark.read.parquet(str(target))
    checked = check(found, events, given["subscriptions"], strategy)
    seconds = seconds[1:] or seconds
    samples = {
        "match_s": seconds,
        "events_per_second": [events / each for each in seconds],
        "pairs_per_s": [events * given["subscriptions"] / each for each in seconds],
    }
    values = {"compile_s": compiled, "matched_events": events, "checked_matches": checked}
    return {"series": strategy, "at": {"strategy": strategy}, "samples": samples, "values": values}


def prepare(spark: Any, place: Path, given: dict[str, Any]) -> float:
    """Events and subscriptions as Parquet, and the compiled index; returns the seconds of the latter."""
    from tamis.spark import Workload, compile_index, generate_events, generate_predicates

    workload = Workload()
    events = generate_events(spark, workload, given["events"], given["partitions"])
    events.write.parquet(str(place / "events"))
    generate_predicates(spark, workload, given["subscriptions"], 2).write.parquet(str(place / "rows"))
    rows = spark.read.parquet(str(place / "rows"))
    return timed(lambda: compile_index(rows, place / "index"))


def bulk(spark: Any, place: Path, name: str, strategy: str, count: int) -> None:
    """The matches of the first events by one strategy, or by a Python function on every pair, as files."""
    from tamis.spark import match
    from tamis.spark.measure import COLUMNS, cross_join

    events = spark.read.parquet(str(place / "events"))
    if strategy == "udf":
        rows = spark.read.parquet(str(place / "rows"))
        few = events.where(f"event_id < {count}")
        found = cross_join(few, rows).withColumnRenamed("id", "subscription_id")
    else:
        found = match(events, place / "index", columns=COLUMNS, strategy=strategy)
    found.write.parquet(str(place / name))


def stream(spark: Any, place: Path, name: str, strategy: str, count: int) -> None:
    """All events that are there, as a stream of files."""
    from tamis.spark import match_stream
    from tamis.spark.measure import COLUMNS

    schema = spark.read.parquet(str(place / "events")).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 4).parquet(str(place / "events"))
    query = match_stream(events, place / "index", place / name, columns=COLUMNS, available_now=True)
    query.awaitTermination()


def check(found: Any, events: int, subscriptions: int, strategy: str) -> int:
    """Hold the matches of the first events to the definition, every predicate's interval holds the event's value; how many."""
    from tamis.spark import Workload

    workload = Workload()
    count = min(CHECKED, events)
    attributes, values = workload.events(np.arange(count))
    table = np.full((count, workload.attributes), -1)
    table[np.arange(count)[:, None], attributes] = values
    wanted, low, high = workload.subscriptions(np.arange(subscriptions))
    expected = set()
    for event in range(count):
        seen = table[event][wanted]
        expected |= {(event, int(i)) for i in np.flatnonzero(((seen >= low) & (seen <= high)).all(axis=1))}
    rows = found.where(f"event_id < {count}").select("event_id", "subscription_id").collect()
    if {(int(a), int(b)) for a, b in rows} != expected:
        raise Disagreement(f"strategy {strategy!r} disagrees with the definition; its times are not reported")
    return len(expected)
