"""The `broadcast` strategy: every worker maps the index, events stay where they are."""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame

from tamis.encoding.keys import Int64Array
from tamis.spark.frames import LazyEvents
from tamis.spark.index import open_index
from tamis.spark.request import FOUND, Batches, Request

SLICE = 1000
FLUSH = 500_000


def matches(events: DataFrame, request: Request) -> DataFrame:
    """(event id, subscription id, error) rows; a malformed event gives one row with its error, or fails the job."""
    return events.mapInArrow(matcher(request), request.schema)


def matcher(request: Request) -> Callable[[Batches], Batches]:
    """The function a task runs over its batches of events."""

    def run(batches: Batches) -> Batches:
        index = open_index(request.directory)
        for batch in batches:
            found, faulty = request.read(batch, index.dictionary)
            if faulty is not None:
                yield faulty
            events = LazyEvents(batch, found.rows, request.columns, request.limits)
            for start in range(0, len(found.batch), SLICE):
                part = slice(start, min(start + SLICE, len(found.batch)))
                rows, subscriptions = index.match(
                    found.batch.slice(part.start, part.stop), found.times[part], events[part]
                )
                yield from pairs(found.ids, rows + start, subscriptions)

    return run


def pairs(ids: pa.Array, rows: Int64Array, subscriptions: pa.Array) -> Batches:
    """Output batches of bounded size."""
    for start in range(0, len(rows), FLUSH):
        chosen = subscriptions.slice(start, FLUSH)
        events = ids.take(pa.array(rows[start : start + FLUSH]))
        yield pa.record_batch([events, chosen, pa.nulls(len(chosen), pa.string())], FOUND)
