"""Bad rows of a bulk input: told with file and line, counted, and left out; with `strict`, the first one is the last."""

import sys

from tamis.errors import DataError


class Problems:
    """Collects the bad rows of one command. Past `shown` they are only counted, so a wrong file cannot flood a terminal."""

    def __init__(self, strict: bool = False, shown: int | None = 20) -> None:
        self.strict, self.shown, self.count = strict, shown, 0

    def add(self, name: str, line: int, message: str) -> None:
        """A row of input `name` that could not be used."""
        text = f"{name}:{line}: {message}"
        if self.strict:
            raise DataError(text)
        self.count += 1
        if self.shown is None or self.count <= self.shown:
            tell(text)
        elif self.count == self.shown + 1:
            tell("… more of these are counted, not shown")


def counted(count: int, one: str, many: str = "") -> str:
    """`1 event`, `2 events`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def tell(text: str) -> None:
    """One message to the person at the terminal, apart from the output proper."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
