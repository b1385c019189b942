from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tamis.encoding.bulk_events import encode_json, encode_long, encode_wide
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import number_key
from tamis.errors import DataError, EventError
from tamis.model.schema import Attribute, IntDomain, PlainDomain, PublicationType

MOMENT = datetime(2024, 5, 1, 12, 30, 0, 250, tzinfo=UTC)
MICROS = int(MOMENT.timestamp()) * 1_000_000 + 250


def dictionary(*names, **settings):
    found = Dictionary(**settings)
    for name in names:
        found.attribute(name)
    return found


def keys(column, **options):
    batch = encode_wide(pa.table({"a": column}), dictionary("a"), **options).strict()
    return batch.keys.tolist()


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (pa.array([MOMENT], pa.timestamp("us", "UTC")), [MICROS]),
        (pa.array([MOMENT], pa.timestamp("us", "Asia/Tokyo")), [MICROS]),
        (pa.array([MICROS * 1000 + 7], pa.timestamp("ns")), [MICROS]),
        (pa.array([date(1970, 1, 2)]), [86_400_000_000]),
        (pa.array([Decimal("12.50"), None]), [12.5]),
        (pa.array([Decimal("12")], pa.decimal128(20, 0)), [12]),
        (pa.array([3, 3, None], pa.dictionary(pa.int8(), pa.int64())), [3, 3]),
        (pa.array([[1, 2], [3, 4]], pa.list_(pa.int16(), 2)), [1, 2, 3, 4]),
    ],
)
def test_types_become_numbers(column, numbers):
    assert keys(column) == [number_key(n) for n in numbers]


def test_bad_rows_are_named_and_left_out():
    table = pa.table({"a": [1.0, float("nan"), None, float("-inf")], "b": pa.array([1, 2, 2**64 - 1, 3], pa.uint64())})
    encoded = encode_wide(table, dictionary("a"))
    assert encoded.rows.tolist() == [0]
    assert encoded.faults[1] == "attribute 'a': nan is not a finite number of 64 bits"
    assert "'b'" in encoded.faults[2]
    assert len(encoded.batch) == 1
    with pytest.raises(EventError, match="row 1: attribute 'a'"):
        encoded.strict()


def test_spread_columns_name_attributes_of_the_event():
    more = pa.array([{"x": 1, "y": 2}, None], pa.map_(pa.string(), pa.int64()))
    table = pa.table({"a": [1, 2], "more": more, "text": ['{"z": {"w": 5}}', None]})
    batch = encode_wide(table, dictionary("a", "x", "y", "z.w"), spread=["more"], json=["text"]).strict()
    assert batch.attrs.tolist() == [0, 1, 2, 3, 0]


def test_broken_json_is_a_fault_of_its_row():
    encoded = encode_json(
        pa.array(['{"a": 1}', '{"a": ', "[1]", '{"a": 1}, {}', None, '{"a": 1e999}']), dictionary("a")
    )
    assert encoded.rows.tolist() == [0, 4]
    assert encoded.faults[1].startswith("not JSON")
    assert encoded.faults[2] == "an event is an object of attributes, not list"


def test_one_name_given_twice():
    table = pa.table({"a.b": [1, 1, None], "a": [{"b": 2}, {"b": None}, {"b": 3}]})
    assert encode_wide(table, dictionary("a.b")).faults == {0: "attribute 'a.b' is given twice, flat and nested"}


def test_a_declared_type_is_kept():
    declared = PublicationType(
        [
            Attribute("n", IntDomain(0, 9)),
            Attribute("t", PlainDomain("timestamp")),
            Attribute("m", IntDomain(), many=True),
        ]
    )
    known = dictionary("n", "t", "m", type=declared)
    table = pa.table(
        {
            "n": [5, 10, None, None, None],
            "t": ["2024-05-01T12:30:00.000250+00:00", None, "yesterday", None, None],
            "m": [None, None, None, [1, 2], None],
            "other": [None, None, None, None, 1],
        }
    )
    encoded = encode_wide(table, known)
    assert encoded.rows.tolist() == [0, 3]
    assert encoded.batch.keys.tolist() == [number_key(5), number_key(MICROS), number_key(1), number_key(2)]
    assert "int[0..9]" in encoded.faults[1]
    assert "timestamp" in encoded.faults[2]
    assert "no attribute 'other'" in encoded.faults[4]
    twice = encode_wide(pa.table({"n": [[1, 2]]}), known)
    assert "takes one value" in twice.faults[0]


def test_bad_columns():
    with pytest.raises(DataError, match="column 'a' has type binary"):
        encode_wide(pa.table({"a": [b"x"]}), dictionary("a"))
    with pytest.raises(DataError, match="no column 'pay'; did you mean 'payload'"):
        encode_wide(pa.table({"payload": ["{}"]}), dictionary(), json=["pay"])
    with pytest.raises(DataError, match="no fields to spread"):
        encode_wide(pa.table({"a": [1]}), dictionary(), spread=["a"])
    with pytest.raises(DataError, match="need a column 'attribute'"):
        encode_long(pa.table({"event": [1]}), dictionary())
