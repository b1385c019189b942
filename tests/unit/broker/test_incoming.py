import io
import json
from typing import Any

import pyarrow as pa
import pytest

from tamis.broker.incoming import key_digest, read_arrow, read_lines, read_one
from tamis.broker.settings import Settings
from tamis.errors import DataError, EventError, TamisError
from tamis.model.limits import Limits

SETTINGS = Settings()
TABLE = pa.table(
    {
        "n": [1, 2, None, 4],
        "s": pa.array(["x", "y", "x", "x"]).dictionary_encode(),
        "l": [[1], [2, 3], [], None],
        "o": [{"a": 1}, None, {"a": None}, {"a": 2}],
    }
)


def stream(table: Any, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_an_event_is_kept_as_compact_json() -> None:
    event = read_one(b' { "a" : 1,\n "b": "\\u00e9" } ', SETTINGS, 5000, b"key")
    assert event.values == {"a": (1,), "b": ("é",)}
    assert event.body == '{"a":1,"b":"é"}'.encode()
    assert (event.valid_for, event.key) == (5000, b"key")


def test_lines_are_read_and_bad_ones_told() -> None:
    batch = read_lines(b'{"a": 1}\n\n  \n{"a": \n{"a": 2}\r\n[]', SETTINGS, key="k")
    assert [event.values["a"] for event in batch.events] == [(1,), (2,)]
    assert [line for line, _ in batch.refused] == [4, 6]
    assert [event.key for event in batch.events] == [key_digest("k", 1), key_digest("k", 5)]


def test_arrow_rows_are_events() -> None:
    batch = read_arrow(stream(TABLE), SETTINGS)
    assert [json.loads(event.body) for event in batch.events] == [
        {"n": 1, "s": "x", "l": [1], "o": {"a": 1}},
        {"n": 2, "s": "y", "l": [2, 3]},
        {"s": "x", "l": [], "o": {"a": None}},
        {"n": 4, "s": "x", "o": {"a": 2}},
    ]


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_arrow_is_refused(codec: str) -> None:
    with pytest.raises(DataError, match="compressed"):
        read_arrow(stream(TABLE, compression=codec), SETTINGS)


def test_damaged_arrow_is_read_or_refused_and_nothing_else() -> None:
    good, outcomes = stream(TABLE), {"read": 0, "refused": 0}
    for at in range(0, len(good), 3):
        hurt = bytearray(good)
        hurt[at] ^= 0x55
        for data in (bytes(hurt), good[:at]):
            try:
                read_arrow(data, SETTINGS)
                outcomes["read"] += 1
            except TamisError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 0


def test_a_batch_has_its_limits() -> None:
    small = Settings(batch_events=3, limits=Limits(event_bytes=50))
    with pytest.raises(DataError, match="batch_events = 3"):
        read_lines(b'{"a":1}\n' * 4, small)
    with pytest.raises(EventError, match="event_bytes = 50"):
        read_one(b'{"a": "' + b"x" * 50 + b'"}', small)
    long = pa.table({"a": pa.array(["x" * 100] * 3).dictionary_encode()})
    assert [line for line, _ in read_arrow(stream(long), small).refused] == [1, 2, 3]
    with pytest.raises(DataError, match="unfolds"):
        read_arrow(stream(pa.table({"a": ["x" * 30] * 3})), Settings(batch_bytes=20))
    with pytest.raises(DataError, match="same name"):
        read_arrow(stream(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])), SETTINGS)
