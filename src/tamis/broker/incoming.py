"""Events as publishers send them: one JSON object, lines of them, or an Arrow stream. Bad ones are told with their line.

Everything here is written against strangers: sizes are bounded before work is done for them, Arrow buffers may not be
compressed (a small one could unfold to any size), and what a reader accepts is what matching will see.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from tamis.broker.core import Incoming
from tamis.broker.settings import Settings
from tamis.errors import DataError, EventError, TamisError
from tamis.lang.events import read_event
from tamis.model.event import normalise

SLICE = 256
UNFOLDED = 4


class Batch(NamedTuple):
    """What could be read, and (line, why not) of the rest."""

    events: list[Incoming]
    refused: list[tuple[int, str]]


def key_digest(key: str | None, part: int | None = None) -> bytes | None:
    """What is stored of an idempotency key; a part of a batch has a key of its own."""
    if key is None:
        return None
    text = key if part is None else f"{part}/{key}"
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()


def read_one(body: bytes, settings: Settings, valid_for: int = 0, key: bytes | None = None) -> Incoming:
    """One event."""
    allowed = settings.limits.event_bytes
    if len(body) > allowed:
        raise EventError(f"the event has {len(body):,} bytes; event_bytes = {allowed:,}")
    return checked(read_event(body), settings, valid_for, key)


def checked(content: dict[str, Any], settings: Settings, valid_for: int, key: bytes | None) -> Incoming:
    """An event that matching will accept."""
    values = normalise(content, settings.type, settings.limits)
    return Incoming(values, msgspec.json.encode(content), valid_for, key)


def read_lines(body: bytes, settings: Settings, valid_for: int = 0, key: str | None = None) -> Batch:
    """Newline-delimited JSON; blank lines are skipped."""

    def rows() -> Iterator[tuple[int, Callable[[], Incoming]]]:
        for line, text in enumerate(body.split(b"\n"), 1):
            if text.strip():
                yield line, lambda: read_one(text, settings, valid_for, key_digest(key, line))  # noqa: B023 (called at once)

    return gather(rows(), settings)


def read_arrow(body: bytes, settings: Settings, valid_for: int = 0, key: str | None = None) -> Batch:
    """An Arrow IPC stream: a row per event, a column per attribute, null meaning absent."""

    def rows() -> Iterator[tuple[int, Callable[[], Incoming]]]:
        for line, content in enumerate(arrow_rows(body), 1):
            yield line, lambda: read_row(content, settings, valid_for, key_digest(key, line))  # noqa: B023 (called at once)

    try:
        return gather(rows(), settings)
    except (
        pa.ArrowException,
        OSError,
        struct.error,
        IndexError,
        ValueError,
        OverflowError,
        NotImplementedError,
    ) as problem:
        raise DataError(f"not a usable Arrow stream: {problem}") from problem


def read_row(content: dict[str, Any], settings: Settings, valid_for: int, key: bytes | None) -> Incoming:
    """One event from a row."""
    event = checked({name: value for name, value in content.items() if value is not None}, settings, valid_for, key)
    if len(event.body) > settings.limits.event_bytes:
        raise EventError(f"the event has {len(event.body):,} bytes; event_bytes = {settings.limits.event_bytes:,}")
    return event


def gather(rows: Iterator[tuple[int, Callable[[], Incoming]]], settings: Settings) -> Batch:
    """Read rows until there are none or too many."""
    batch = Batch([], [])
    size = 0
    for count, (line, read) in enumerate(rows, 1):
        if count > settings.batch_events:
            raise DataError(f"the batch has more events than batch_events = {settings.batch_events:,}")
        try:
            event = read()
        except TamisError as problem:
            batch.refused.append((line, str(problem)))
            continue
        size += len(event.body)
        if size > settings.batch_bytes * UNFOLDED:
            raise DataError(f"the batch unfolds to more than {UNFOLDED} times batch_bytes = {settings.batch_bytes:,}")
        batch.events.append(event)
    return batch


def arrow_rows(body: bytes) -> Iterator[dict[str, Any]]:
    """Rows as dictionaries, a slice at a time."""
    messages = pa.ipc.MessageReader.open_stream(pa.py_buffer(body))
    for message in messages:
        if message.type in ("record batch", "dictionary") and is_compressed(message):
            raise DataError("Arrow batches must not be compressed; compress the request body's connection instead")
    with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
        if len(set(reader.schema.names)) != len(reader.schema.names):
            raise DataError("two columns of the Arrow stream have the same name")
        for batch in reader:
            batch.validate(full=True)
            for start in range(0, batch.num_rows, SLICE):
                yield from batch.slice(start, SLICE).to_pylist()


def is_compressed(message: Any) -> bool:
    """Whether a message's header names a codec; pyarrow does not tell, so this looks into the flatbuffer itself."""
    data = message.metadata.to_pybytes()
    header = field(data, struct.unpack_from("<I", data, 0)[0], 2)
    if header is None:
        raise DataError("an Arrow message has no header")
    batch = follow(data, header)
    if message.type == "dictionary":
        inner = field(data, batch, 1)
        if inner is None:
            return False
        batch = follow(data, inner)
    return field(data, batch, 3) is not None


def field(data: bytes, table: int, slot: int) -> int | None:
    """Where a field of a flatbuffer table stands, if it is set."""
    layout = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, layout)[0]
    at = 4 + 2 * slot
    offset = struct.unpack_from("<H", data, layout + at)[0] if at < size else 0
    return table + offset if offset else None


def follow(data: bytes, at: int) -> int:
    """Where an offset points."""
    return at + int(struct.unpack_from("<I", data, at)[0])
