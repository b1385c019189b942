"""Where matches go: JSON lines or Parquet, one record per event: its number (from 1) and the ids it matched."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedWriter, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from tamis.cli.source import FORMATS
from tamis.errors import DataError

Id = str | int


class Writer(Protocol):
    """Takes the matches of a chunk of events."""

    def write(self, numbers: Sequence[int], matches: Sequence[Sequence[Id]]) -> None:
        """Record that event numbers[i] matched matches[i]."""
        ...


class JsonLines:
    """`{"event": 1, "matches": ["alice"]}` line by line, flushed after every chunk."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.encoder = stream, msgspec.json.Encoder()

    def write(self, numbers: Sequence[int], matches: Sequence[Sequence[Id]]) -> None:
        """Append one line per event."""
        records = [{"event": number, "matches": ids} for number, ids in zip(numbers, matches, strict=True)]
        self.stream.write(self.encoder.encode_lines(records))
        self.stream.flush()


class Parquet:
    """Columns `event` (int64) and `matches` (list of ids); ids are text unless every subscription has an integer."""

    def __init__(self, stream: BinaryIO, integers: bool) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.convert: type[int] | type[str] = int if integers else str
        ids = pa.int64() if integers else pa.string()
        self.schema = pa.schema([("event", pa.int64()), ("matches", pa.list_(ids))])
        self.file = pq.ParquetWriter(stream, self.schema)

    def write(self, numbers: Sequence[int], matches: Sequence[Sequence[Id]]) -> None:
        """Append a row group."""
        import pyarrow as pa

        columns: dict[str, Any] = {"event": numbers, "matches": [[self.convert(id) for id in ids] for ids in matches]}
        self.file.write_table(pa.table(columns, self.schema))


@contextmanager
def writer(name: str, integers: bool) -> Iterator[Writer]:
    """The writer for an output named by the user; `-` is standard output."""
    if name == "-":
        with standard_output() as stream:
            yield JsonLines(stream)
        return
    with Path(name).open("wb") as stream:
        if output_format(name) == "jsonl":
            yield JsonLines(stream)
        else:
            parquet = Parquet(stream, integers)
            yield parquet
            parquet.file.close()


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output; an unbuffered one gets a buffer, because by itself it may take only a part of what it is given."""
    stream = sys.stdout.buffer
    if not isinstance(stream, RawIOBase):
        yield stream
        return
    buffered = BufferedWriter(stream)
    try:
        yield buffered
    finally:
        buffered.detach()


def output_format(name: str) -> str:
    """`jsonl` or `parquet`, by the name's ending."""
    if name == "-":
        return "jsonl"
    found = FORMATS.get(Path(name).suffix.lower())
    if found not in ("jsonl", "parquet"):
        raise DataError(f"{name}: matches are written as .jsonl or .parquet")
    return found


def check_output(name: str, inputs: Sequence[str]) -> None:
    """Refuse, before any work is done, an output that cannot be written or would overwrite an input."""
    output_format(name)
    if name == "-":
        return
    path = Path(name)
    if any(path.exists() and other != "-" and path.samefile(other) for other in inputs):
        raise DataError(f"{name}: is also an input; name another file")
    if not path.parent.is_dir():
        raise DataError(f"{name}: there is no directory {path.parent}")
    if path.is_dir():
        raise DataError(f"{name}: is a directory")
