"""Events in bulk: Arrow columns → `EventBatch`, with no Python per row.

*Wide*: each column is an attribute, null means absent, structs flatten to dotted names, lists give several values, maps hold
sparse attributes by name. *Long*: rows of (event, attribute, value). Timestamps and dates become microseconds since 1970,
decimals numbers, dictionary-encoded columns what they stand for. `bulk_json.py` reads rows of JSON.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from tamis.encoding.bulk_json import add_json
from tamis.encoding.columns import factorise, flat, one_chunk, parents, present
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import Int64Array
from tamis.encoding.pairs import Encoded, Pairs, Path
from tamis.errors import DataError, nearest
from tamis.model.limits import Limits

VALUES = ("integer", "float", "string", "bool")


def encode_wide(
    events: pa.Table | pa.RecordBatch,
    dictionary: Dictionary,
    *,
    spread: Iterable[str] = (),
    json: Iterable[str] = (),
    limits: Limits = Limits(),
) -> Encoded:
    """One event per row, one attribute per column. Fields of the columns in `spread` (structs, maps) and of the JSON objects
    in the columns `json` become attributes of the event itself, without the column's name before them."""
    pairs = Pairs(len(events), dictionary, limits)
    spread, json = set(spread), set(json)
    for name in sorted((spread | json) - set(events.schema.names)):
        raise DataError(f"there is no column {name!r}{nearest(name, events.schema.names)}")
    for name in events.schema.names:
        column = one_chunk(events.column(name))
        if name in json:
            add_json(pairs, column)
        else:
            add_column(pairs, () if name in spread else (name,), np.arange(len(column)), column)
    return pairs.finish()


def encode_json(rows: pa.Array | pa.ChunkedArray, dictionary: Dictionary, limits: Limits = Limits()) -> Encoded:
    """One event per row of JSON text."""
    column = one_chunk(rows)
    pairs = Pairs(len(column), dictionary, limits)
    add_json(pairs, column)
    return pairs.finish()


def encode_long(rows: pa.Table, dictionary: Dictionary, limits: Limits = Limits()) -> tuple[Encoded, pa.Array]:
    """One value per row: columns `event`, `attribute`, and the value in `integer`, `float`, `string` or `bool`.

    Returns the events in order of first appearance and, for each, what `event` called it.
    """
    for name in ("event", "attribute"):
        if name not in rows.column_names:
            raise DataError(f"long event rows need a column {name!r}; there are {', '.join(rows.column_names)}")
        if rows.column(name).null_count:
            raise DataError(f"column {name!r} of long event rows has a null")
    encoded = one_chunk(rows.column("event")).dictionary_encode()
    owner = np.asarray(encoded.indices).astype(np.int64)
    names, which = factorise(one_chunk(rows.column("attribute")))
    pairs = Pairs(len(encoded.dictionary), dictionary, limits)
    for name in VALUES:
        if name in rows.column_names:
            column = one_chunk(rows.column(name))
            there = present(column)
            pairs.add([(n,) for n in names], which[there], owner[there], column.drop_null())
    return pairs.finish(), encoded.dictionary


def add_column(pairs: Pairs, path: Path, rows: Int64Array, column: pa.Array) -> None:
    """A column of any type under `path`; value i belongs to row rows[i]."""
    kind = column.type
    if pa.types.is_null(kind):
        return
    if pa.types.is_struct(kind):
        for field, child in zip(kind, column.flatten(), strict=True):
            add_column(pairs, (*path, field.name), rows, child)
    elif pa.types.is_map(kind):
        add_map(pairs, path, rows, column)
    elif is_list(kind):
        kept = present(column)
        if pa.types.is_fixed_size_list(kind):
            column = column.cast(pa.large_list(kind.value_type))
        add_column(pairs, path, rows[parents(column)] if kept.any() else rows[:0], flat(column))
    elif column.null_count:
        there = present(column)
        add_column(pairs, path, rows[there], column.drop_null())
    elif not path:
        raise DataError(f"a column of type {kind} has no fields to spread")
    else:
        pairs.add([path], np.zeros(len(column), np.int64), rows, column)


def add_map(pairs: Pairs, path: Path, rows: Int64Array, column: pa.Array) -> None:
    """A map column: its keys name the attributes."""
    as_list = column.cast(pa.large_list(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))
    owner, entries = rows[parents(as_list)], flat(as_list)
    names, which = factorise(entries.field("key"))
    values = entries.field("value")
    if nested(values.type):
        for at, name in enumerate(names):
            mine = which == at
            add_column(pairs, (*path, str(name)), owner[mine], values.filter(pa.array(mine)))
    else:
        there = present(values)
        pairs.add([(*path, str(n)) for n in names], which[there], owner[there], values.drop_null())


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is some kind of list."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def nested(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds values inside values."""
    return bool(pa.types.is_struct(kind) or pa.types.is_map(kind) or is_list(kind) or pa.types.is_null(kind))
