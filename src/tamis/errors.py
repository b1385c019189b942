"""Every error tamis raises on purpose, in one tree.

TamisError
├── FilterError            a subscription's condition is at fault
│   ├── ParseError         it is not in the language (line, column, caret, what was expected)
│   ├── BindError          it does not fit the publication type
│   └── LimitError         it is larger than a limit allows (the limit is named)
├── EventError             an event is malformed or outside its publication type
├── SchemaError            a publication type is malformed
├── SubscriptionError      an id is unknown or already taken
├── EngineError            unknown engine, bad option, or a structure that would not fit
│   └── Disagreement       an engine's matches are not those of the oracle; nothing it measures would mean anything
├── StorageError           a saved index or file cannot be read, written or trusted
├── OperatorError          an operator is unknown, misused or misbehaves
├── DataError              a bulk input (file, frame) is malformed as a whole
├── BrokerError            the broker refuses or cannot answer
│   ├── TicketError        no such subscription, or not its ticket: one answer for both
│   ├── ConflictError      an idempotency key was used for another event
│   ├── TargetError        a webhook address that must not be called
│   ├── BusyError          too much at once; come back later
│   ├── FullError          the disk is full; nothing was changed
│   └── UnknownOutcome     the disk failed while writing: nobody knows whether the change is there
└── MissingExtra           an optional dependency is not installed (the extra is named)
"""

from collections.abc import Iterable
from difflib import get_close_matches


class TamisError(Exception):
    """Root of all errors raised on purpose; its text is fit to be shown to a user."""


class FilterError(TamisError):
    """A subscription's condition is at fault."""


class ParseError(FilterError):
    """The text is not in the language; keeps the position for tools and draws a caret for people."""

    def __init__(self, message: str, text: str, line: int, column: int, width: int = 1) -> None:
        self.message, self.text, self.line, self.column, self.width = message, text, line, column, max(1, width)
        super().__init__(self.render())

    def render(self) -> str:
        """The message, the offending line, and a caret under the offending text."""
        lines = self.text.split("\n")
        line = lines[self.line - 1] if 1 <= self.line <= len(lines) else ""
        shown = "".join(c if c.isprintable() else " " for c in line)
        start, end = window(len(shown), self.column - 1)
        pad = " " * (self.column - 1 - start)
        carets = "^" * max(1, min(self.width, max(1, end - self.column + 1)))
        return f"line {self.line}, column {self.column}: {self.message}\n  {shown[start:end]}\n  {pad}{carets}"


class BindError(FilterError):
    """The condition does not fit the publication type."""


class LimitError(FilterError):
    """The condition is larger than a limit allows."""

    def __init__(self, limit: str, allowed: int, found: int) -> None:
        self.limit, self.allowed, self.found = limit, allowed, found
        super().__init__(f"the limit {limit} = {allowed:,} is exceeded: found {found:,}")


class EventError(TamisError):
    """An event is malformed or outside its publication type."""


class SchemaError(TamisError):
    """A publication type is malformed."""


class SubscriptionError(TamisError):
    """A subscription id is unknown or already taken."""


class EngineError(TamisError):
    """Unknown engine, bad option, or a structure that would not fit."""


class Disagreement(EngineError):
    """An engine's matches are not those of the oracle."""


class StorageError(TamisError):
    """A saved index or file cannot be read, written or trusted."""


class OperatorError(TamisError):
    """An operator is unknown, misused or misbehaves."""


class DataError(TamisError):
    """A bulk input is malformed as a whole."""


class BrokerError(TamisError):
    """The broker refuses or cannot answer."""


class TicketError(BrokerError):
    """No such subscription, or not its ticket; the text does not tell which."""

    def __init__(self) -> None:
        super().__init__("this ticket opens no such subscription; it may have expired: subscribe again")


class ConflictError(BrokerError):
    """An idempotency key was used before, for another event."""


class TargetError(BrokerError):
    """A webhook address that must not be called."""


class BusyError(BrokerError):
    """Too much at once; `seconds` later there may be room."""

    def __init__(self, message: str, seconds: int = 1, client: bool = False) -> None:
        self.seconds, self.client = seconds, client
        super().__init__(f"{message}; try again in {seconds} s")


class FullError(BrokerError):
    """The disk is full; nothing was changed."""


class UnknownOutcome(BrokerError):
    """The disk failed while writing: nobody knows whether the change is there."""


class MissingExtra(TamisError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency: pip install 'tamis[{extra}]'")


def window(length: int, at: int, width: int = 100) -> tuple[int, int]:
    """The part of a long line to show around position `at`."""
    start = max(0, min(at - width // 2, length - width))
    return start, min(length, start + width)


def nearest(word: str, known: Iterable[str]) -> str:
    """A «did you mean» clause for `word`, or the empty string."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
