"""JSON as strangers send it: duplicate keys, NaN, infinities, lone surrogates and bottomless nesting are refused."""

import json
from typing import Any

import msgspec

from tamis.errors import EventError
from tamis.model.event import normalise
from tamis.model.limits import Limits
from tamis.model.schema import PublicationType


def parse(text: bytes) -> Any:
    """The value of a JSON text, or an `EventError` that says what is wrong with it."""
    try:
        return DECODER.decode(text.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise EventError(f"not UTF-8 text: {problem.reason} at byte {problem.start}") from None
    except RecursionError:
        raise EventError("not usable JSON: nested too deeply") from None
    except ValueError as problem:
        raise EventError(f"not JSON: {problem}") from None


def event(text: bytes, type: PublicationType | None, limits: Limits) -> tuple[dict[str, Any], bytes]:
    """An event's content, checked, and its compact JSON."""
    if len(text) > limits.event_bytes:
        raise EventError(f"the event has {len(text):,} bytes; event_bytes = {limits.event_bytes:,}")
    content = parse(text)
    normalise(content, type, limits)
    return content, msgspec.json.encode(content)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which no key was given twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"the key {twice[:100]!r} is given twice")
    return found


def refuse(name: str) -> None:
    """NaN and the infinities are Python's extension, not JSON."""
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=refuse)
