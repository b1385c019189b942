"""Event DataFrames: which column names the event, which carry attributes, and how a batch of rows becomes an `EventBatch`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, overload

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from tamis.encoding.bulk_events import encode_wide
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import Int64Array
from tamis.encoding.pairs import Encoded
from tamis.errors import DataError, nearest
from tamis.model.event import Event, normalise
from tamis.model.limits import Limits
from tamis.model.schema import EPOCH


@dataclass(frozen=True, slots=True)
class EventColumns:
    """How events lie in a DataFrame: each column is an attribute but for those named here.

    id      names the event; it comes back beside the ids of the subscriptions it matches
    time    when the event happened (timestamp), for subscriptions with a validity; also an attribute
    ignore  columns that are no attributes
    spread  structs or maps whose fields are attributes of the event itself
    json    strings that hold an object of further attributes
    """

    id: str = "event_id"
    time: str | None = None
    ignore: tuple[str, ...] = ()
    spread: tuple[str, ...] = ()
    json: tuple[str, ...] = ()

    def check(self, events: DataFrame) -> None:
        """Every column named here is there; a DataError says which is not."""
        for name in (self.id, *([self.time] if self.time else []), *self.ignore, *self.spread, *self.json):
            if name not in events.columns:
                listed = ", ".join(events.columns)
                raise DataError(f"events have no column {name!r}{nearest(name, events.columns)} (columns: {listed})")
        if self.time and not isinstance(events.schema[self.time].dataType, (t.TimestampType, t.DateType)):
            raise DataError(f"the time column {self.time!r} must be a timestamp")
        for name in self.json:
            if not isinstance(events.schema[name].dataType, t.StringType):
                raise DataError(f"the JSON column {name!r} must hold strings")

    def prune(self, events: DataFrame, names: Iterable[str]) -> DataFrame:
        """Only the columns that some subscription can ask about: the rest is never read from its files."""
        roots = {name.split(".")[0] for name in names} | set(names)
        kept = {self.id, self.time, *self.spread, *self.json} | (roots - set(self.ignore))
        return events.select([events[f"`{name}`"] for name in events.columns if name in kept])

    def encode(self, batch: pa.RecordBatch, dictionary: Dictionary, limits: Limits = Limits()) -> Encoded:
        """The attributes of a batch of rows."""
        apart = {self.id, *self.ignore}
        attributes = batch.select([name for name in batch.schema.names if name not in apart])
        if not attributes.num_columns:
            attributes = pa.record_batch([pa.nulls(len(batch))], ["none"])
        spread = [name for name in self.spread if name in attributes.schema.names]
        json = [name for name in self.json if name in attributes.schema.names]
        encoded = encode_wide(attributes, dictionary, spread=spread, json=json, limits=limits)
        for row, message in encoded.faults.items():
            encoded.faults[row] = f"{message}; event: {shortened(attributes.slice(row, 1))}"
        return encoded

    def times(self, batch: pa.RecordBatch, rows: Int64Array, now: int) -> Int64Array:
        """When each of the given rows happened, in microseconds; `now` where the event does not say."""
        if self.time is None:
            return np.full(len(rows), now, np.int64)
        micros = batch.column(self.time).cast(pa.timestamp("us", "UTC"), safe=False).cast(pa.int64())
        return np.asarray(micros.fill_null(now))[rows]


class LazyEvents(Sequence[Event]):
    """Rows of a batch as events, made when asked for: operators need whole events, but few of them."""

    def __init__(self, batch: pa.RecordBatch, rows: Int64Array, columns: EventColumns, limits: Limits) -> None:
        self.batch, self.rows, self.columns, self.limits = batch, rows, columns, limits

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return LazyEvents(self.batch, self.rows[index], self.columns, self.limits)
        row = self.batch.slice(int(self.rows[index]), 1).to_pylist()[0]
        event: dict[str, Any] = {}
        for name, value in row.items():
            if name in self.columns.json:
                event |= msgspec.json.decode(value) if value is not None else {}
            elif name in self.columns.spread:
                event |= dict(value or {})
            elif name not in (self.columns.id, *self.columns.ignore):
                event[name] = value
        return normalise(plain(event), limits=self.limits)


def plain(value: Any) -> Any:
    """Values as `bulk_events` reads them: moments as microseconds, decimals as numbers, maps as objects."""
    if isinstance(value, datetime):
        return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()) // timedelta(microseconds=1)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def shortened(row: pa.RecordBatch, length: int = 400) -> str:
    """A malformed event as text, so that whoever reads the quarantine sees what came in."""
    found = {name: value for name, value in row.to_pylist()[0].items() if value is not None}
    text = repr(found)
    return text if len(text) <= length else text[:length] + "…"
