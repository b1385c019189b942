"""What rows mean: subscriptions (`id`, `filter`) and events (attribute = value)."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from tamis.cli.problems import Problems
from tamis.cli.readers import Advance, Row, read
from tamis.cli.source import Source
from tamis.errors import DataError
from tamis.lang.events import read_event
from tamis.model.schema import PublicationType, domain_kind
from tamis.model.values import INT64_MAX, INT64_MIN, Kind

json_scalar: Callable[[str], Any] = msgspec.json.Decoder(bool | int | float | str | None).decode


class Subscription(NamedTuple):
    """One row of a file of subscriptions."""

    line: int
    id: str | int
    filter: str


def subscriptions(source: Source, problems: Problems, advance: Advance = lambda _: None) -> Iterator[Subscription]:
    """The subscriptions of a file; rows without a proper id and filter are problems."""
    for chunk in read(source, problems, advance):
        for row in chunk:
            try:
                yield subscription(row, source.format == "csv")
            except DataError as error:
                problems.add(source.label, row.line, str(error))


def subscription(row: Row, from_text: bool) -> Subscription:
    """A row as a subscription, or an error that says what it lacks."""
    data = row.data
    if not isinstance(data, dict):
        raise DataError('a subscription is an object: {"id": …, "filter": …}')
    for field in ("id", "filter"):
        if data.get(field) is None:
            raise DataError(f"a subscription needs {field!r}; this one has {', '.join(map(repr, data)) or 'nothing'}")
    key, text = data["id"], data["filter"]
    if from_text:
        typed = scalar(key)
        key = typed if is_id(typed) and not isinstance(typed, str) else key
    if not is_id(key):
        raise DataError(f"an id is a string or an integer of 64 bits, not {key!r}")
    if not isinstance(text, str):
        raise DataError(f"the filter of {key!r} is not a string")
    return Subscription(row.line, key, text)


def is_id(key: object) -> bool:
    """Whether a value can be the id of a subscription."""
    return isinstance(key, str) or (type(key) is int and INT64_MIN <= key <= INT64_MAX)


def events(
    source: Source, type: PublicationType | None, problems: Problems, advance: Advance = lambda _: None
) -> Iterator[list[Row]]:
    """The events of a file, in chunks."""
    if source.format == "text":
        raise DataError(f"{source.label}: events come as CSV, JSONL or Parquet")
    textual = text_attributes(type) if type else frozenset()
    for chunk in read(source, problems, advance, read_event):
        if source.format == "csv":
            yield [row._replace(data=typed_values(row.data, textual)) for row in chunk]
        else:
            yield chunk


def text_attributes(type: PublicationType) -> frozenset[str]:
    """Attributes declared to hold strings: their CSV values are taken as they stand, so 007 stays 007."""
    return frozenset(n for n, declared in type.attributes.items() if domain_kind(declared.domain) is Kind.STRING)


def typed_values(data: dict[str, str], textual: frozenset[str]) -> dict[str, Any]:
    """A CSV record as an event."""
    return {name: text if name in textual else scalar(text) for name, text in data.items()}


def scalar(text: str) -> Any:
    """A CSV value: the JSON scalar it spells (a number, true, false, null, a quoted string), else the text itself."""
    try:
        return json_scalar(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text
