"""Rows of CSV, JSONL, Parquet and plain text, in chunks, each row with the line it came from."""

import csv
from collections.abc import Callable, Iterator
from functools import partial
from os import SEEK_END
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import msgspec

from tamis.cli.problems import Problems
from tamis.cli.source import Lines, Source
from tamis.errors import DataError, EventError

PARQUET_ROWS = 16_384


class Row(NamedTuple):
    """A record, its number among all records (good and bad, from 1), and the line it starts on (in Parquet: its number).

    From CSV all values are text, and empty ones are left out.
    """

    line: int
    number: int
    data: Any


Advance: TypeAlias = Callable[[int], None]
Chunks: TypeAlias = Iterator[list[Row]]
Decode: TypeAlias = Callable[[bytes], Any]


def read(
    source: Source, problems: Problems, advance: Advance = lambda _: None, decode: Decode = msgspec.json.decode
) -> Chunks:
    """All rows of a source in chunks; `advance` is told of bytes as they are read, `decode` reads a line of JSON."""
    readers: dict[str, Callable[[BinaryIO, str, Problems, Advance], Chunks]] = {
        "csv": read_csv,
        "jsonl": partial(read_jsonl, decode),
        "parquet": read_parquet,
        "text": read_text,
    }
    with source.open() as stream:
        yield from readers[source.format](stream, source.label, problems, advance)


def read_jsonl(decode: Decode, stream: BinaryIO, name: str, problems: Problems, advance: Advance) -> Chunks:
    """One JSON value per line; blank lines are skipped."""
    lines = Lines(stream, name, advance)
    number = 0
    chunk: list[Row] = []
    for line in lines:
        if line.strip():
            number += 1
            try:
                chunk.append(Row(lines.number, number, decode(line)))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                problems.add(name, lines.number, f"not JSON: {error}")
            except EventError as error:
                problems.add(name, lines.number, str(error))
        if lines.drained:
            yield chunk
            chunk = []
    yield chunk


def read_text(stream: BinaryIO, name: str, problems: Problems, advance: Advance) -> Chunks:
    """One filter per line, its line number serving as id; blank lines and lines starting with # are skipped."""
    lines = Lines(stream, name, advance)
    chunk: list[Row] = []
    for line in lines:
        text = line.decode("utf-8", "surrogateescape")
        if is_broken(text):
            problems.add(name, lines.number, "not UTF-8")
        elif text.strip() and not text.lstrip().startswith("#"):
            chunk.append(Row(lines.number, lines.number, {"id": lines.number, "filter": text}))
        if lines.drained:
            yield chunk
            chunk = []
    yield chunk


def read_csv(stream: BinaryIO, name: str, problems: Problems, advance: Advance) -> Chunks:
    """Records under a header line; quoted fields may hold commas and line ends."""
    lines = Lines(stream, name, advance)
    # surrogateescape: one bad byte must not end the reading; the record that holds it is refused below.
    reader = csv.reader((line.decode("utf-8", "surrogateescape") + "\n" for line in lines), strict=True)
    header = csv_header(reader, name)
    number = 0
    chunk: list[Row] = []
    while True:
        first = lines.number + 1
        try:
            fields = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            number += 1
            problems.add(name, first, f"not CSV: {error}")
            continue
        number += bool(fields)
        if len(fields) not in (0, len(header)):
            problems.add(name, first, f"{len(fields)} fields, but the header has {len(header)}")
        elif any(map(is_broken, fields)):
            problems.add(name, first, "not UTF-8")
        elif fields:
            data = {key: text for key, text in zip(header, fields, strict=True) if text}
            chunk.append(Row(first, number, data))
        if lines.drained:
            yield chunk
            chunk = []
    yield chunk


def csv_header(reader: Iterator[list[str]], name: str) -> list[str]:
    """The names of the columns, or an error that says what is wrong with them."""
    try:
        header = [column.strip() for column in next(reader)]
    except StopIteration:
        raise DataError(f"{name}: empty; a CSV file starts with a line of column names") from None
    except csv.Error as error:
        raise DataError(f"{name}:1: not CSV: {error}") from None
    if any(not column or is_broken(column) for column in header):
        raise DataError(f"{name}:1: the header has a column without a readable name")
    for i, column in enumerate(header):
        if column in header[:i]:
            raise DataError(f"{name}:1: the header names the column {column!r} twice")
    return header


def read_parquet(stream: BinaryIO, name: str, problems: Problems, advance: Advance) -> Chunks:
    """Rows of a Parquet file; dates and timestamps become microseconds since 1970, decimals floats."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = 1
    try:
        file = pq.ParquetFile(stream)
        row_bytes = stream.seek(0, SEEK_END) / max(1, file.metadata.num_rows)
        for batch in file.iter_batches(PARQUET_ROWS):
            columns = zip(batch.schema.names, batch.columns, strict=True)
            table = pa.table({column: plain(values) for column, values in columns})
            yield [Row(number, number, data) for number, data in enumerate(table.to_pylist(), first)]
            first += batch.num_rows
            advance(round(batch.num_rows * row_bytes))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{name}: not a readable Parquet file: {error}") from None


def plain(column: Any) -> Any:
    """An Arrow column with values that JSON could hold."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False).cast(pa.int64())
    return column.cast(pa.float64()) if pa.types.is_decimal(kind) else column


def is_broken(text: str) -> bool:
    """Whether decoding met bytes that are not UTF-8."""
    return not text.isascii() and any("\udc80" <= c <= "\udcff" for c in text)
