"""Events as JSON text. Stricter than most readers: a key given twice, NaN and infinities are errors, not surprises."""

import json
from typing import Any, NoReturn

import msgspec

from tamis.errors import EventError


def read_event(text: str | bytes) -> dict[str, Any]:
    """One JSON object; or an EventError that says what is wrong and where."""
    try:
        event = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return read_strictly(text)
    # Every key of the text has a colon. As many colons as different keys: so no key was given twice.
    colons = text.count(":") if isinstance(text, str) else text.count(b":")
    return event if event.__class__ is dict and count_keys(event) == colons else read_strictly(text)


def count_keys(value: Any) -> int:
    """How many keys the objects inside a value have, all together."""
    inner = value.values() if value.__class__ is dict else value
    deeper = sum([count_keys(one) for one in inner if one.__class__ is dict or one.__class__ is list])
    return len(value) + deeper if value.__class__ is dict else deeper


def read_strictly(text: str | bytes) -> dict[str, Any]:
    """The slow way, which looks at every key of every object and finds the words for what is wrong."""
    try:
        event = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise EventError(f"not JSON: {problem.msg} at {where}") from None
    except UnicodeDecodeError as problem:
        raise EventError(f"not UTF-8: byte {problem.start} cannot be read") from None
    except RecursionError:
        raise EventError("the event is nested too deeply to be read") from None
    except ValueError as problem:
        raise EventError(f"not a usable number: {problem}") from None
    if not isinstance(event, dict):
        raise EventError(f"an event is a JSON object, not {describe(event)}")
    return event


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different."""
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise EventError(f"the key {twice!r} is given twice")
    return made


def refuse(constant: str) -> NoReturn:
    """JSON has no NaN or infinity, though Python reads them."""
    raise EventError(f"{constant} is not a finite number")


def describe(value: object) -> str:
    """What a JSON value is, in JSON's words."""
    words = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return words.get(type(value), "a number")
