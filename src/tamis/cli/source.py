"""Where rows come from: a file or standard input, its format, and its lines as they arrive."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from tamis.errors import DataError

FORMATS = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
}
BLOCK = 1 << 20
LONGEST_LINE = 16 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """An input as the user named it; `-` is standard input."""

    name: str
    format: str

    @property
    def label(self) -> str:
        """The name to use in messages."""
        return "standard input" if self.name == "-" else self.name

    @property
    def size(self) -> int | None:
        """Bytes to come, where that is known."""
        return None if self.name == "-" else Path(self.name).stat().st_size

    def open(self) -> BinaryIO:
        """The bytes; Parquet is read from its end, so a pipe is gathered first."""
        if self.name != "-":
            return Path(self.name).open("rb", buffering=BLOCK)
        return BytesIO(sys.stdin.buffer.read()) if self.format == "parquet" else sys.stdin.buffer


def source(name: str, stdin_format: str = "jsonl") -> Source:
    """The input called `name`, or an error that says why it cannot be one."""
    if name == "-":
        return Source(name, stdin_format)
    path = Path(name)
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(FORMATS)
        raise DataError(f"{name}: cannot tell the format from the name; it should end in one of {known}")
    try:
        path.open("rb").close()
    except OSError as problem:
        raise DataError(f"{name}: {(problem.strerror or 'cannot be read').lower()}") from None
    return Source(name, FORMATS[path.suffix.lower()])


class Lines(Iterator[bytes]):
    """Lines of a stream without their ends, as they arrive.

    `drained` says that the next line may have to be waited for: time to act on those already here.
    """

    def __init__(self, stream: BinaryIO, name: str, advance: Callable[[int], None]) -> None:
        self.stream, self.name, self.advance = stream, name, advance
        self.ready: list[bytes] = []  # last line first
        self.rest = b""
        self.number = 0
        self.over = False

    @property
    def drained(self) -> bool:
        """Whether no line is at hand."""
        return not self.ready

    def __next__(self) -> bytes:
        while not self.ready:
            if self.over:
                raise StopIteration
            self._read()
        self.number += 1
        return self.ready.pop().removesuffix(b"\r")

    def _read(self) -> None:
        block = self.stream.read1(BLOCK) if hasattr(self.stream, "read1") else self.stream.read(BLOCK)
        self.advance(len(block))
        self.over = not block
        *lines, self.rest = (self.rest + block).split(b"\n")
        if self.over and self.rest:
            lines.append(self.rest)
        if self.number == 0 and lines:
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
        if len(self.rest) > LONGEST_LINE:
            raise DataError(f"{self.name}: line {self.number + len(lines) + 1} is over 16 MiB; is this a text file?")
        self.ready = lines[::-1]
