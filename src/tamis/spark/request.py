"""What every strategy is asked: which index, how events lie in their columns, what a malformed one does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int64Array
from tamis.errors import EventError
from tamis.model.limits import Limits
from tamis.spark.frames import EventColumns
from tamis.spark.layout import Manifest

Batches = Iterator[pa.RecordBatch]
FOUND = ["event_id", "subscription_id", "error"]


class Rows(NamedTuple):
    """The well-formed events of a batch of rows: encoded, the rows they came from, their ids and times (microseconds)."""

    batch: EventBatch
    rows: Int64Array
    ids: pa.Array
    times: Int64Array


@dataclass(frozen=True, slots=True)
class Request:
    """A match to be run; travels to workers. `event_id_type` is Spark's name of a type, `now` in microseconds."""

    directory: Path
    manifest: Manifest
    columns: EventColumns
    event_id_type: str
    limits: Limits
    strict: bool
    now: int

    @property
    def schema(self) -> str:
        """The columns of the answer."""
        return f"event_id {self.event_id_type}, subscription_id {self.manifest.id_type}, error string"

    def read(self, batch: pa.RecordBatch, dictionary: Dictionary) -> tuple[Rows, pa.RecordBatch | None]:
        """The events of a batch, and an answer for the malformed among them, which fail the job if `strict`."""
        encoded = self.columns.encode(batch, dictionary, self.limits)
        ids = batch.column(self.columns.id)
        if self.strict and encoded.faults:
            row = min(encoded.faults)
            raise EventError(f"event {ids[row].as_py()!r}: {encoded.faults[row]}")
        times = self.columns.times(batch, encoded.rows, self.now)
        well = ids.take(pa.array(encoded.rows)) if encoded.faults else ids
        return Rows(encoded.batch, encoded.rows, well, times), self.faulty(ids, encoded.faults)

    def faulty(self, ids: pa.Array, faults: dict[int, str]) -> pa.RecordBatch | None:
        """One row of the answer per malformed event."""
        if not faults:
            return None
        rows = sorted(faults)
        kind = pa.string() if self.manifest.id_type == "string" else pa.int64()
        errors = pa.array([faults[row] for row in rows], pa.string())
        return pa.record_batch([ids.take(pa.array(rows)), pa.nulls(len(rows), kind), errors], FOUND)


def over_shards(
    spark: SparkSession, directory: Path, manifest: Manifest, read: Callable[[int, Path], Batches], schema: str
) -> DataFrame:
    """What `read` makes of the shards (number, directory) of a version, each in a task of its own."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for row in batch.to_pylist():
                yield from read(row["number"], directory / row["shard"])

    plan = spark.createDataFrame(list(enumerate(manifest.shards)), "number bigint, shard string")
    return plan.repartition(len(manifest.shards), "shard").mapInArrow(run, schema)
