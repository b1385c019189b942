"""Events: attribute → the tuple of its values.

Nested objects flatten to dotted names, lists give several values (a predicate holds if any satisfies it), also through
lists of objects; `null` and the empty list mean absent. One name reached by two ways is refused.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from tamis.errors import EventError
from tamis.model.limits import Limits
from tamis.model.schema import PublicationType
from tamis.model.values import INT64_MAX, INT64_MIN, Scalar, check_scalar

Event: TypeAlias = dict[str, tuple[Scalar, ...]]
SHALLOW = 4  # nesting that the short way takes


def normalise(raw: object, type: PublicationType | None = None, limits: Limits = Limits()) -> Event:
    """A user's mapping as an `Event`, checked against `type` when there is one."""
    if not isinstance(raw, Mapping):
        raise EventError(f"an event is an object of attributes, not {raw.__class__.__name__}")
    event: Event = {}
    most, levels = min(limits.event_attributes, limits.event_values), min(SHALLOW, limits.event_depth - 1)
    if type is None and levels >= 0 and plain(raw, "", event, levels) and len(event) <= most:
        return event
    event = {}
    for name, values in flatten(raw, limits).items():
        if not values:
            continue
        if type is not None:
            declared = type.attribute(name, EventError)
            if len(values) > 1 and not declared.many:
                raise EventError(f"attribute {name!r} takes one value, not a list (declare it with `many`)")
            event[name] = tuple(type.admit(name, v) for v in values)
        else:
            event[name] = tuple(check_scalar(v, f"attribute {name!r}") for v in values)
    if len(event) > limits.event_attributes:
        raise EventError(f"the event has {len(event):,} attributes; event_attributes = {limits.event_attributes:,}")
    return event


def plain(raw: Mapping[Any, Any], prefix: str, event: Event, levels: int) -> bool:
    """The short way, for objects of ordinary scalars and a little nesting: fills `event`, or says no and leaves it half
    full. It says no to everything that wants a second look, be it right or wrong, so that `flatten` stays the judge."""
    for key, value in raw.items():
        if key.__class__ is not str or not key.isascii() or not key or "." in key:
            return False
        kind, name = value.__class__, prefix + key
        if kind is dict and levels > 0:
            if not plain(value, name + ".", event, levels - 1):
                return False
        elif kind is bool or (kind is str and value.isascii()) or (kind is int and INT64_MIN <= value <= INT64_MAX):
            event[name] = (value,)
        elif kind is float and math.isfinite(value):
            event[name] = (value + 0.0,)
        else:
            return False
    return True


def flatten(raw: Mapping[object, object], limits: Limits) -> dict[str, list[object]]:
    """Dotted name → values, nulls dropped; refuses names that collide and structures that are too deep or too large."""
    found: dict[str, list[object]] = {}
    sources: dict[str, tuple[str, ...]] = {}
    total = 0
    stack: list[tuple[tuple[str, ...], object, int]] = [((), raw, 0)]
    while stack:
        path, node, depth = stack.pop()
        if depth > limits.event_depth:
            raise EventError(f"the event is nested deeper than event_depth = {limits.event_depth}")
        if isinstance(node, Mapping):
            for key, child in reversed(list(node.items())):
                if not isinstance(key, str) or not key:
                    raise EventError(f"attribute names are non-empty strings, not {key!r}")
                check_scalar(key, "an attribute name")
                stack.append(((*path, key), child, depth + 1))
        elif isinstance(node, (list, tuple)):
            stack.extend((path, child, depth + 1) for child in reversed(node))
        elif node is not None:
            name = ".".join(path)
            if sources.setdefault(name, path) != path:
                raise EventError(f"attribute {name!r} is given twice, flat and nested")
            found.setdefault(name, []).append(node)
            total += 1
            if total > limits.event_values:
                raise EventError(f"the event has more values than event_values = {limits.event_values:,}")
    return found
