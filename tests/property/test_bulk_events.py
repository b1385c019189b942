"""Events in bulk give the batch that `encode_events(normalise(row))` makes of the same rows."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.worlds import populations, streams

from tamis.encoding.bulk_events import encode_json, encode_long, encode_wide
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.errors import EventError
from tamis.model.event import normalise

KIND = {int: "integer", float: "float", str: "string", bool: "bool"}
ARROW = {"integer": pa.int64(), "float": pa.float64(), "string": pa.string(), "bool": pa.bool_()}


def known(population):
    dictionary = Dictionary()
    encode_subscriptions(enumerate(population), dictionary)
    return dictionary


def pairs(batch):
    """Each event as a sorted list of (attribute, key, raw value)."""
    found = []
    for i in range(len(batch)):
        span = range(batch.offsets[i], batch.offsets[i + 1])
        raws = [batch.raws[batch.raw[p]] if batch.raw[p] >= 0 else None for p in span]
        triples = zip(batch.attrs[span].tolist(), batch.keys[span].tolist(), map(repr, raws), strict=True)
        attrs = batch.attrs[span].tolist()
        assert attrs == sorted(attrs)
        found.append(sorted(triples))
    return found


def check(bulk, events, dictionary):
    expected = encode_events([normalise(event) for event in events], dictionary)
    assert pairs(bulk) == pairs(expected)
    assert bulk.multi == expected.multi or not any(len(v) > 1 for e in events for v in e.values())


def nested(event):
    """`{"e.f": (1,)}` as `{"e": {"f": [1]}}`."""
    found: dict[str, Any] = {}
    for name, values in event.items():
        *outer, last = name.split(".")
        place = found
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = list(values) if len(values) > 1 else values[0]
    return found


@settings(max_examples=300)
@given(populations, streams)
def test_json(population, stream):
    dictionary = known(population)
    rows = [json.dumps(nested(event)) for event in stream]
    check(encode_json(pa.array(rows, pa.string()), dictionary).strict(), stream, dictionary)


@settings(max_examples=200)
@given(populations, streams)
def test_long(population, stream):
    dictionary = known(population)
    rows = [
        {"event": f"e{i}", "attribute": name, KIND[type(value)]: value}
        for i, event in enumerate(stream)
        for name, values in event.items()
        for value in values
    ]
    schema = pa.schema({"event": pa.string(), "attribute": pa.string(), **ARROW})
    encoded, ids = encode_long(pa.Table.from_pylist(rows, schema=schema), dictionary)
    events = {f"e{i}": event for i, event in enumerate(stream) if event}
    assert ids.to_pylist() == list(events)
    check(encoded.strict(), list(events.values()), dictionary)


@st.composite
def frames(draw):
    """A wide Arrow table and the rows it stands for, one kind per column."""
    size = draw(st.integers(0, 6))
    kinds = {
        "integer": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 6)),
        "small": (pa.int8(), st.integers(-2, 6)),
        "unsigned": (pa.uint64(), st.integers(0, 2**64 - 1) | st.integers(0, 6)),
        "float": (pa.float64(), st.floats() | st.sampled_from([0.5, 2.0, -0.0])),
        "half": (pa.float32(), st.floats(width=32)),
        "bool": (pa.bool_(), st.booleans()),
        "string": (pa.string(), st.sampled_from(["", "a", "ab", "Sony", "straße"])),
        "large": (pa.large_string(), st.sampled_from(["a", "SONY"])),
    }

    def column(depth):
        shape = (
            draw(st.sampled_from(["plain", "plain", "plain", "encoded", "list", "struct", "map"])) if depth else "plain"
        )
        if shape == "struct":
            fields = {
                name: column(depth - 1) for name in draw(st.lists(st.sampled_from("fgh"), unique=True, max_size=3))
            }
            return pa.struct({n: t for n, (t, _) in fields.items()}), st.fixed_dictionaries(
                {n: v for n, (_, v) in fields.items()}
            )
        if shape == "list":
            kind, values = column(depth - 1)
            return pa.list_(kind), st.lists(values, max_size=3)
        if shape == "map":
            kind, values = column(depth - 1)
            return pa.map_(pa.string(), kind), st.dictionaries(st.sampled_from("fgxy"), values, max_size=3)
        kind, values = kinds[draw(st.sampled_from(sorted(kinds)))]
        kind = pa.dictionary(pa.int32(), kind) if shape == "encoded" and pa.types.is_string(kind) else kind
        return kind, st.none() | values

    names = draw(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "e.f"]), unique=True, max_size=4))
    columns = {name: column(2) for name in names}
    rows = [{name: draw(st.none() | values) for name, (_, values) in columns.items()} for _ in range(size)]
    schema = pa.schema({name: kind for name, (kind, _) in columns.items()})
    table = pa.table(
        [pa.array([row[name] for row in rows], kind) for name, (kind, _) in columns.items()], schema=schema
    )
    return (table if columns else pa.table({"a": pa.nulls(size)})), rows


@settings(max_examples=300)
@given(populations, frames())
def test_wide(population, frame):
    table, rows = frame
    dictionary = known(population)
    for name in ("a.f", "e.f", "e.g", "b.x"):
        dictionary.attribute(name)
    good, bad = {}, set()
    for i, row in enumerate(rows):
        try:
            good[i] = normalise(row)
        except EventError:
            bad.add(i)
    encoded = encode_wide(table, dictionary)
    assert set(encoded.faults) == bad
    assert encoded.rows.tolist() == sorted(good)
    check(encoded.batch, list(good.values()), dictionary)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(st.lists(values, max_size=5))
def test_json_of_any_shape(rows):
    dictionary = Dictionary()
    for name in ("a", "b", "a.b", "c.a"):
        dictionary.attribute(name)
    good, bad = {}, set()
    for i, row in enumerate(rows):
        try:
            good[i] = normalise({} if row is None else row)
        except EventError:
            bad.add(i)
    encoded = encode_json(pa.array([json.dumps(row) for row in rows], pa.string()), dictionary)
    assert set(encoded.faults) == bad
    check(encoded.batch, list(good.values()), dictionary)
    if bad:
        with pytest.raises(EventError, match=f"row {min(bad)}"):
            encoded.strict()
    else:
        assert np.array_equal(encoded.rows, np.arange(len(rows)))
