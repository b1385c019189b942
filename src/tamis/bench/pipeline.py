"""The pipeline on Spark, measured from Parquet to Parquet on this machine, its matches held to plain array arithmetic."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tamis.bench.measure import timed
from tamis.errors import Disagreement, MissingExtra

CHECKED = 20
ROUNDS = {"udf": 1, "sql": 2, "sql-grouping": 2}


def measure(given: dict[str, Any]) -> list[dict[str, Any]]:
    """A row per strategy (in bulk) or one (as a stream)."""
    try:
        from tamis.spark import local_session
    except ModuleNotFoundError as problem:
        raise MissingExtra("the pipeline", "spark") from problem
    spark = local_session("local[2]", "2g")
    place = Path(tempfile.mkdtemp(prefix="tamis-bench-spark-"))
    try:
        compiled = prepare(spark, place, given)
        if given["mode"] == "stream":
            return [row("stream", given, compiled, streamed(spark, place, given))]
        return [row(strategy, given, compiled, bulk(spark, place, given, strategy)) for strategy in given["strategies"]]
    finally:
        spark.stop()
        shutil.rmtree(place, ignore_errors=True)


def row(series: str, given: dict[str, Any], compiled: float, seconds: list[float]) -> dict[str, Any]:
    """Rates by strategy."""
    pairs = given["events"] * given["subscriptions"]
    samples = {
        "match_s": seconds,
        "events_per_second": [given["events"] / each for each in seconds],
        "pairs_per_s": [pairs / each for each in seconds],
    }
    return {"series": series, "at": {"strategy": series}, "samples": samples, "values": {"compile_s": compiled}}


def prepare(spark: Any, place: Path, given: dict[str, Any]) -> float:
    """Events and subscriptions as Parquet, and the compiled index; returns the seconds of the latter."""
    from tamis.spark import Workload, compile_index, generate_events, generate_predicates

    workload = Workload()
    events = generate_events(spark, workload, given["events"], given["partitions"])
    events.write.parquet(str(place / "events"))
    generate_predicates(spark, workload, given["subscriptions"], 2).write.parquet(str(place / "rows"))
    rows = spark.read.parquet(str(place / "rows"))
    return timed(lambda: compile_index(rows, place / "index"))


def bulk(spark: Any, place: Path, given: dict[str, Any], strategy: str) -> list[float]:
    """Seconds of each round; the first, which starts workers and loads kernels, does not count but for the slowest."""
    rounds = ROUNDS.get(strategy, 4)
    spent = []
    for n in range(rounds):
        target = place / f"{strategy}-{n}"
        spent.append(timed(lambda target=target: matched(spark, place, strategy).write.parquet(str(target))))  # type: ignore[misc]
    check(spark.read.parquet(str(target)), given, strategy)
    return spent[1:] or spent


def matched(spark: Any, place: Path, strategy: str) -> Any:
    """The matches by one strategy, or by a Python function on every pair."""
    from tamis.spark import match
    from tamis.spark.measure import COLUMNS, cross_join

    events = spark.read.parquet(str(place / "events"))
    if strategy == "udf":
        rows = spark.read.parquet(str(place / "rows"))
        return cross_join(events, rows).withColumnRenamed("id", "subscription_id")
    return match(events, place / "index", columns=COLUMNS, strategy=strategy)


def stream(spark: Any, place: Path, name: str) -> None:
    """All events that are there, as a stream of files."""
    from tamis.spark import match_stream
    from tamis.spark.measure import COLUMNS

    schema = spark.read.parquet(str(place / "events")).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 4).parquet(str(place / "events"))
    query = match_stream(events, place / "index", place / name, columns=COLUMNS, available_now=True)
    query.awaitTermination()


def streamed(spark: Any, place: Path, given: dict[str, Any]) -> list[float]:
    """Seconds of a second stream over the same files; the first loads the kernels."""
    stream(spark, place, "warm")
    spent = timed(lambda: stream(spark, place, "out"))
    check(spark.read.parquet(str(place / "out" / "matches")), given, "stream")
    return [spent]


def check(found: Any, given: dict[str, Any], strategy: str) -> None:
    """The matches of the first events are those of the definition: every predicate's interval holds the event's value."""
    from tamis.spark import Workload

    workload = Workload()
    count = min(CHECKED, given["events"])
    attributes, values = workload.events(np.arange(count))
    table = np.full((count, workload.attributes), -1)
    table[np.arange(count)[:, None], attributes] = values
    wanted, low, high = workload.subscriptions(np.arange(given["subscriptions"]))
    expected = set()
    for event in range(count):
        seen = table[event][wanted]
        expected |= {(event, int(i)) for i in np.flatnonzero(((seen >= low) & (seen <= high)).all(axis=1))}
    rows = found.where(f"event_id < {count}").select("event_id", "subscription_id").collect()
    if {(int(a), int(b)) for a, b in rows} != expected:
        raise Disagreement(f"strategy {strategy!r} disagrees with the definition; its times are not reported")
