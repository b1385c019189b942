"""The three batches ⇄ Arrow record batches. Numbers are shared, not copied; only bitmaps of nulls are made anew.

A table has one row per conjunction, an event batch one per event (a list of its pairs), a match set one per event (a list
of ids). All of them can be sent, stored and sliced with any Arrow tool.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import FIRST_SET, SubscriptionTable
from tamis.model.values import Scalar

SCALAR = pa.struct(
    [("bool", pa.bool_()), ("integer", pa.int64()), ("float", pa.float64()), ("string", pa.large_string())]
)
FIELD: dict[type, str] = {bool: "bool", int: "integer", float: "float", str: "string"}
MULTI = b"tamis.multi"


def table_to_arrow(table: SubscriptionTable) -> pa.RecordBatch:
    """One row per conjunction: `owner`, and `predicates` as a list of (attr, op, lo, hi, set)."""
    is_set = table.ops >= FIRST_SET
    starts, sizes = np.where(is_set, table.lo, 0), np.where(is_set, table.hi - table.lo, 0)
    members = pa.LargeListViewArray.from_arrays(pa.array(starts), pa.array(sizes), pa.array(table.sets))
    columns = {"attr": table.attrs, "op": table.ops, "lo": table.lo, "hi": table.hi}
    parts = [*(pa.array(column) for column in columns.values()), members]
    predicates = pa.StructArray.from_arrays(parts, [*columns, "set"])
    rows = pa.LargeListArray.from_arrays(pa.array(table.offsets), predicates)
    return pa.record_batch([pa.array(table.owners), rows], ["owner", "predicates"])


def table_from_arrow(batch: pa.RecordBatch, dictionary: Dictionary) -> SubscriptionTable:
    """The table behind `table_to_arrow`; the dictionary travels on its own (`saved.py`)."""
    rows = batch.column("predicates")
    predicates, offsets = values_of(rows), array_of(rows.offsets)
    attrs, ops, lo, hi = (array_of(predicates.field(name)) for name in ("attr", "op", "lo", "hi"))
    sets = array_of(predicates.field("set").values)
    return SubscriptionTable(
        array_of(batch.column("owner")), offsets - offsets[0], attrs, ops, lo, hi, sets, dictionary
    )


def events_to_arrow(batch: EventBatch) -> pa.RecordBatch:
    """One row per event: `pairs` as a list of (attr, key, raw), where raw is the value itself if it is needed."""
    codes = pa.array(batch.raw, mask=batch.raw < 0)
    raw = pa.DictionaryArray.from_arrays(codes, scalars_to_arrow(batch.raws))
    parts = [pa.array(batch.attrs), pa.array(batch.keys), raw]
    pairs = pa.StructArray.from_arrays(parts, ["attr", "key", "raw"])
    rows = pa.LargeListArray.from_arrays(pa.array(batch.offsets), pairs)
    schema = pa.schema([("pairs", rows.type)], metadata={MULTI: b"1" if batch.multi else b"0"})
    return pa.record_batch([rows], schema=schema)


def events_from_arrow(batch: pa.RecordBatch) -> EventBatch:
    """The events behind `events_to_arrow`."""
    rows = batch.column("pairs")
    pairs, offsets = values_of(rows), array_of(rows.offsets)
    raw = pairs.field("raw")
    codes = array_of(raw.indices.fill_null(-1))
    multi = batch.schema.metadata[MULTI] == b"1"
    columns = (array_of(pairs.field("attr")), array_of(pairs.field("key")), codes)
    return EventBatch(offsets - offsets[0], *columns, scalars_from_arrow(raw.dictionary), multi)


def matches_to_arrow(matches: MatchSet) -> pa.RecordBatch:
    """One row per event: `subscriptions` as a list of dense ids."""
    rows = pa.LargeListArray.from_arrays(pa.array(matches.offsets), pa.array(matches.ids))
    return pa.record_batch([rows], ["subscriptions"])


def matches_from_arrow(batch: pa.RecordBatch) -> MatchSet:
    """The matches behind `matches_to_arrow`."""
    rows = batch.column("subscriptions")
    offsets = array_of(rows.offsets)
    return MatchSet(offsets - offsets[0], array_of(values_of(rows)))


def scalars_to_arrow(values: Any) -> pa.StructArray:
    """Scalars of any kind, each in the field of its kind."""
    kinds = [FIELD[type(value)] for value in values]
    fields = [
        pa.array([v if k == f.name else None for v, k in zip(values, kinds, strict=True)], f.type) for f in SCALAR
    ]
    return pa.StructArray.from_arrays(fields, fields=list(SCALAR))


def scalars_from_arrow(array: pa.StructArray) -> list[Scalar]:
    """The scalars behind `scalars_to_arrow`."""
    columns = zip(*(array.field(i).to_pylist() for i in range(len(SCALAR))), strict=True)
    return [next(v for v in row if v is not None) for row in columns]


def values_of(rows: pa.LargeListArray) -> Any:
    """The list values that a (possibly sliced) list column covers."""
    first, last = (rows.offsets[0].as_py(), rows.offsets[-1].as_py()) if len(rows) else (0, 0)
    return rows.values.slice(first, last - first)


def array_of(column: pa.Array) -> Any:
    """A column without nulls as a NumPy array over the same memory."""
    return column.to_numpy(zero_copy_only=True)
