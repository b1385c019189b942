"""The `broadcast` strategy: every worker maps the index, events stay where they are."""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from tamis.encoding.keys import Int64Array
from tamis.errors import EventError
from tamis.model.limits import Limits
from tamis.spark.frames import EventColumns, LazyEvents
from tamis.spark.index import open_index

Batches = Iterator[pa.RecordBatch]
SLICE = 1000
FLUSH = 500_000


def matches(
    events: DataFrame,
    index: str,
    version: str,
    columns: EventColumns,
    schema: str,
    limits: Limits,
    strict: bool,
    now: int,
) -> DataFrame:
    """(event id, subscription id, error) rows; a malformed event gives one row with its error, or fails the job."""
    return events.mapInArrow(matcher(index, version, columns, limits, strict, now), schema)


def matcher(
    index: str, version: str, columns: EventColumns, limits: Limits, strict: bool, now: int
) -> Callable[[Batches], Batches]:
    """The function a task runs over its batches of events."""

    def run(batches: Batches) -> Batches:
        opened = open_index(index, version)
        for batch in batches:
            encoded = columns.encode(batch, opened.dictionary, limits)
            if strict and encoded.faults:
                row = min(encoded.faults)
                raise EventError(f"event {batch.column(columns.id)[row].as_py()!r}: {encoded.faults[row]}")
            ids = batch.column(columns.id)
            if encoded.faults:
                yield faulty(ids, encoded.faults, opened.shards[0].ids.type)
            times = columns.times(batch, encoded.rows, now) if opened.manifest.validity else None
            events = LazyEvents(batch, encoded.rows, columns, limits)
            for start in range(0, len(encoded.batch), SLICE):
                stop = min(start + SLICE, len(encoded.batch))
                part = None if times is None else times[start:stop]
                found, subscriptions = opened.match(encoded.batch.slice(start, stop), part, events[start:stop])
                yield from pairs(ids, encoded.rows[start:stop][found], subscriptions)

    return run


def pairs(ids: pa.Array, rows: Int64Array, subscriptions: pa.Array) -> Batches:
    """Output batches of bounded size."""
    for start in range(0, len(rows), FLUSH):
        chosen = subscriptions.slice(start, FLUSH)
        events = ids.take(pa.array(rows[start : start + FLUSH]))
        yield pa.record_batch(
            [events, chosen, pa.nulls(len(chosen), pa.string())], ["event_id", "subscription_id", "error"]
        )


def faulty(ids: pa.Array, faults: dict[int, str], kind: pa.DataType) -> pa.RecordBatch:
    """One output row per malformed event."""
    rows = sorted(faults)
    errors = pa.array([faults[row] for row in rows], pa.string())
    columns = [ids.take(pa.array(rows)), pa.nulls(len(rows), kind), errors]
    return pa.record_batch(columns, ["event_id", "subscription_id", "error"])
