"""Matching streams: every micro-batch is matched with the index version that is current when it starts.

Output is exactly-once: the matches of batch n are written beside and then moved to `matches/batch_id=n` in one step, with a
record of the batch in `commits`. A batch that is run again after a crash finds its record and is skipped, or finds none
and starts over. Malformed events go to `quarantine/batch_id=n`. With `retain`, events themselves are kept, so that
`backfill` can hold new subscriptions against them.

    output/matches/batch_id=n  quarantine/batch_id=n  events/batch_id=n  commits/n.json

Any streaming DataFrame will do as a source. `json_events` makes events of raw text, from files or from Kafka alike.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from tamis.errors import StorageError
from tamis.model.limits import Limits
from tamis.spark.frames import EventColumns
from tamis.spark.layout import Manifest, current_version, write_text
from tamis.spark.match import match
from tamis.spark.output import MALFORMED, MATCHES, write_matches
from tamis.spark.request import Batches, over_shards
from tamis.spark.storage import read_ids

BATCH = "batch_id"


@dataclass(frozen=True, slots=True)
class Commit:
    """What is known of a finished batch."""

    batch: int
    version: str
    covered: list[str]
    """Versions whose subscriptions have been held against the batch's events: `version`, and back-filled ones."""


def match_stream(
    events: DataFrame,
    index: str | Path,
    output: str | Path,
    *,
    checkpoint: str | Path | None = None,
    columns: EventColumns = EventColumns(),
    limits: Limits = Limits(),
    retain: bool = False,
    available_now: bool = False,
    interval: str = "1 second",
    on_batch: Callable[[Commit], None] | None = None,
) -> StreamingQuery:
    """Start matching a stream of events. `available_now` ends the query when all present input is done."""
    place = Path(output).absolute()
    columns.check(events)
    current_version(index)

    def each(batch: DataFrame, number: int) -> None:
        commit = process(batch, number, index, place, columns, limits, retain)
        if on_batch is not None:
            on_batch(commit)

    writer = events.writeStream.foreachBatch(each).option("checkpointLocation", str(checkpoint or place / "checkpoint"))
    writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=interval)
    return writer.queryName(f"tamis {place.name}").start()


def process(
    batch: DataFrame, number: int, index: str | Path, output: Path, columns: EventColumns, limits: Limits, retain: bool
) -> Commit:
    """One micro-batch, whole or not at all."""
    done = read_commit(output, number)
    if done is not None:
        return done
    version = current_version(index)
    staging = output / "staging" / str(number)
    shutil.rmtree(staging, ignore_errors=True)
    write_matches(
        batch,
        index,
        staging / "found",
        columns=columns,
        on_error="keep",
        limits=limits,
        version=version,
        strategy="broadcast",
    )
    if retain:
        batch.write.parquet(str(staging / "events"))
        put(staging / "events", output / "events" / f"{BATCH}={number}")
    put(staging / "found" / MALFORMED, output / "quarantine" / f"{BATCH}={number}")
    put(staging / "found" / MATCHES, output / "matches" / f"{BATCH}={number}")
    commit = Commit(number, version, [version])
    write_commit(output, commit)
    shutil.rmtree(staging, ignore_errors=True)
    return commit


def put(source: Path, target: Path) -> None:
    """Move a finished directory into place, over what an unfinished attempt left there."""
    if target.exists():
        shutil.rmtree(target)
    if source.exists() and any(source.iterdir()):
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)


def read_commit(output: Path, number: int) -> Commit | None:
    """The record of a batch, if it is finished."""
    try:
        return Commit(**json.loads((output / "commits" / f"{number}.json").read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as problem:
        raise StorageError(f"the record of batch {number} in {output} is damaged: {problem}") from problem


def write_commit(output: Path, commit: Commit) -> None:
    """Finish a batch."""
    (output / "commits").mkdir(parents=True, exist_ok=True)
    write_text(output / "commits" / f"{commit.batch}.json", json.dumps(asdict(commit)))


def commits(output: str | Path) -> list[Commit]:
    """The records of all finished batches, in order."""
    numbers = sorted(int(entry.stem) for entry in (Path(output) / "commits").glob("[0-9]*.json"))
    return [commit for number in numbers if (commit := read_commit(Path(output), number)) is not None]


def read_output(spark: SparkSession, output: str | Path, kind: str = "matches") -> DataFrame:
    """The matches (or `quarantine`, or retained `events`) of all finished batches, back-filled ones included."""
    place = Path(output)
    wanted = {f"{BATCH}={commit.batch}" for commit in commits(output)}
    entries = sorted((place / kind).glob(f"{BATCH}=*")) if (place / kind).exists() else []
    paths = [str(entry) for entry in entries if entry.name in wanted or "backfill" in entry.name]
    if not paths:
        return spark.createDataFrame([], "event_id string, subscription_id string, error string")
    found = spark.read.option("basePath", str(place / kind)).parquet(*paths)
    return found.drop("error", BATCH) if kind == "matches" else found.drop(BATCH)


def backfill(
    spark: SparkSession,
    index: str | Path,
    output: str | Path,
    *,
    columns: EventColumns = EventColumns(),
    now: datetime | None = None,
) -> int:
    """Hold subscriptions that came after a batch was matched against its retained events; returns the batches treated.

    A subscription is new to a batch if no version the batch was matched with knows its id. Run again, it does nothing.
    """
    place, version = Path(output).absolute(), current_version(index)
    due = [commit for commit in commits(output) if version not in commit.covered]
    for commit in due:
        events = place / "events" / f"{BATCH}={commit.batch}"
        if not events.exists():
            raise StorageError(f"batch {commit.batch} of {output} was not retained; start the stream with retain=True")
        fresh = subscription_ids(spark, index, version)
        for known in commit.covered:
            fresh = fresh.join(subscription_ids(spark, index, known), "subscription_id", "left_anti")
        found = match(
            spark.read.parquet(str(events)), index, columns=columns, on_error="drop", now=now, version=version
        )
        found = found.join(fresh, "subscription_id", "left_semi").select("event_id", "subscription_id")
        staging = place / "staging" / f"backfill-{commit.batch}"
        shutil.rmtree(staging, ignore_errors=True)
        found.write.parquet(str(staging))
        put(staging, place / "matches" / f"{BATCH}=backfill-{commit.batch}-{version}")
        write_commit(place, Commit(commit.batch, commit.version, [*commit.covered, version]))
    return len(due)


def subscription_ids(spark: SparkSession, index: str | Path, version: str) -> DataFrame:
    """The ids of all subscriptions of a version, read by executors."""
    directory = Path(index).absolute() / version
    manifest = Manifest.read(directory)

    def read(_: int, shard: Path) -> Batches:
        yield read_ids(shard).select(["id"]).rename_columns(["subscription_id"])

    return over_shards(spark, directory, manifest, read, f"subscription_id {manifest.id_type}")


def json_events(raw: DataFrame, text: str = "value", id: str = "event_id") -> DataFrame:
    """Raw rows of JSON text as events: columns `event_id` (the member `id` of the object) and `body`.

    For files: `json_events(spark.readStream.text(directory))`; for Kafka: `json_events(spark.readStream.format("kafka")…load())`.
    Match them with `JSON_EVENTS`; what is not JSON ends in the quarantine.
    """
    body = f.col(text).cast("string")
    return raw.select(f.get_json_object(body, f"$.{id}").alias("event_id"), body.alias("body"))


JSON_EVENTS = EventColumns(id="event_id", json=("body",))
