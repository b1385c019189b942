"""Matches as Parquet files. Under `broadcast` the workers that find them write them: columnar from the kernel to the file,
several times cheaper than handing every pair to Spark as a row.

    output/matches/     event_id, subscription_id
    output/malformed/   event_id, error (with on_error="keep")

Files are written beside and named only by tasks that finished, so attempts that failed or came second leave nothing; the
directory appears in one step. It must be visible to driver and executors, like the index.
"""

import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tamis.errors import DataError
from tamis.spark.broadcast import matcher
from tamis.spark.files import over_groups, row_groups
from tamis.spark.match import MatchOptions, answer, prepare
from tamis.spark.request import Batches, Request

MATCHES, MALFORMED = "matches", "malformed"
COLUMNS = {MATCHES: ["event_id", "subscription_id"], MALFORMED: ["event_id", "error"]}
GROUP = 1 << 20
"""Rows of a row group, about."""
TOLD = "file string, rows long"


@dataclass(frozen=True, slots=True)
class Written:
    """How many pairs and how many malformed events were written."""

    matches: int
    malformed: int


def write_matches(
    events: DataFrame | str | Path,
    subscriptions: DataFrame | str | Path,
    output: str | Path,
    **options: Unpack[MatchOptions],
) -> Written:
    """What `match` finds, with the same options, as Parquet files in a new directory.

    `events` may be the path of Parquet files that all workers see: under `broadcast` they read them, too.
    """
    place = Path(output).absolute()
    if place.exists():
        raise DataError(f"{output} exists already; choose another directory")
    source = None if isinstance(events, DataFrame) else Path(events).absolute()
    frame = events if isinstance(events, DataFrame) else session().read.parquet(str(source))
    plan, request, read = prepare(frame, subscriptions, options)
    keep = options.get("on_error") == "keep"
    staging = place.with_name(f".{place.name}")
    shutil.rmtree(staging, ignore_errors=True)  # of a run that was killed
    try:
        if plan.strategy == "broadcast":
            told = by_workers(over(read, source, writer(request, staging, keep)), staging, keep)
        else:
            told = by_spark(answer(plan, request, read, "keep" if keep else "drop"), staging)
        staging.rename(place)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return told


def over(events: DataFrame, source: Path | None, task: Callable[[Batches], Batches]) -> DataFrame:
    """A job that runs `task` over all events; from files of their own if it can."""
    spark = events.sparkSession
    tasks = int(str(spark.conf.get("spark.sql.shuffle.partitions")))
    dealt = None if source is None else row_groups(source, tasks)
    return events.mapInArrow(task, TOLD) if dealt is None else over_groups(spark, dealt, events.columns, task, TOLD)


def session() -> SparkSession:
    """The session in use."""
    found = SparkSession.getActiveSession()
    if found is None:
        raise DataError("there is no Spark session; start one, for example with tamis.spark.local_session()")
    return found


def by_workers(job: DataFrame, staging: Path, keep: bool) -> Written:
    """Let workers write their matches; what no finished task named is removed."""
    for kind in (MATCHES, *([MALFORMED] if keep else [])):
        (staging / kind).mkdir(parents=True)
    rows = {row.file: row.rows for row in job.collect()}
    for file in staging.glob("*/*"):
        if str(file.relative_to(staging)) not in rows:
            file.unlink()
    count = {kind: sum(n for file, n in rows.items() if file.startswith(kind)) for kind in COLUMNS}
    return Written(count[MATCHES], count[MALFORMED])


def writer(request: Request, staging: Path, keep: bool) -> Callable[[Batches], Batches]:
    """The function a task runs over its batches of events; yields a row about each file it wrote."""
    find = matcher(request)

    def run(batches: Batches) -> Batches:
        name = f"{uuid.uuid4().hex}.parquet"
        parts = {kind: Part(staging / kind / name, columns) for kind, columns in COLUMNS.items()}
        for found in find(batches):
            bad = found.column("error").null_count < len(found)
            if keep or not bad:
                parts[MALFORMED if bad else MATCHES].add(found)
        for kind, part in parts.items():
            if part.close():
                yield pa.record_batch({"file": [f"{kind}/{name}"], "rows": [part.rows]})

    return run


@dataclass
class Part:
    """A file that is opened with its first row; rows gather into row groups."""

    path: Path
    columns: list[str]
    rows: int = 0
    _held: list[pa.RecordBatch] = field(default_factory=list)
    _waiting: int = 0
    _file: pq.ParquetWriter | None = None

    def add(self, found: pa.RecordBatch) -> None:
        """Take rows in."""
        self._held.append(found.select(self.columns))
        self._waiting += len(found)
        if self._waiting >= GROUP:
            self._flush()

    def close(self) -> bool:
        """Finish the file; whether there is one."""
        self._flush()
        if self._file is not None:
            self._file.close()
        return self._file is not None

    def _flush(self) -> None:
        if self._waiting:
            group = pa.Table.from_batches(self._held)
            self._file = self._file or pq.ParquetWriter(self.path, group.schema, **encodings(group.schema))
            self._file.write_table(group, row_group_size=len(group))
            self.rows += self._waiting
            self._held, self._waiting = [], 0


def encodings(schema: pa.Schema) -> dict[str, Any]:
    """Whole numbers are packed as differences, which is small and quick already; the rest is compressed."""
    packed = [column.name for column in schema if pa.types.is_integer(column.type)]
    return {
        "column_encoding": dict.fromkeys(packed, "DELTA_BINARY_PACKED"),
        "use_dictionary": [name for name in schema.names if name not in packed],
        "compression": {name: "none" if name in packed else "zstd" for name in schema.names},
    }


def by_spark(found: DataFrame, staging: Path) -> Written:
    """Let Spark write what another strategy finds."""
    bad = f.col("error").isNotNull() if "error" in found.columns else f.lit(False)
    found.withColumn("bad", bad).write.partitionBy("bad").parquet(str(staging))
    counts = {}
    for kind, value in ((MATCHES, "false"), (MALFORMED, "true")):
        written = staging / f"bad={value}"
        if written.exists():
            written.rename(staging / kind)
        files = (staging / kind).glob("*.parquet")
        counts[kind] = sum(pq.read_metadata(file).num_rows for file in files)
    return Written(counts[MATCHES], counts[MALFORMED])
