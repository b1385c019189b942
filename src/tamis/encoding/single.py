"""Plain events the short way: from a user's mapping straight to the pairs of known attributes.

It says no to everything that wants a second look, be it right or wrong (nesting, lists, nulls, declared types, text beyond
ASCII that no filter names), so that `model.event.normalise` and `encode_events` stay the judges of what an event means.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import EXACT, FALSE, TRUE, UNKNOWN_STRING, number_keys
from tamis.model.values import INT64_MAX, INT64_MIN, Scalar

NUMBERS = frozenset((int, float))
Derive = Callable[[int, Scalar], list[tuple[int, int]]]


SinglePairs = tuple[list[float], list[int], list[int]]
"""The pairs of one event with one value per attribute: numbers as they are, then ready keys, and the attributes of both in turn.
Numbers of 2^53 and more, and those that are not finite, are for the engine to refuse."""


def single_pairs(event: dict[str, Any], dictionary: Dictionary, derive: Derive) -> SinglePairs | None:
    """The pairs of an event, or None when it wants the long way; `derive` gives the derived pairs of a value."""
    attrs: list[Any] = list(map(dictionary.ids.get, event))
    derived = dictionary.by_base
    if not derived and None not in attrs and NUMBERS.issuperset(map(type, event.values())):
        return list(event.values()), [], attrs
    numbers: list[float] = []
    keys: list[int] = []
    number_attrs: list[int] = []
    key_attrs: list[int] = []
    strings = dictionary.strings
    for attribute, (name, value) in zip(attrs, event.items(), strict=True):
        kind = value.__class__
        if attribute is None:
            if not ordinary(name, value):
                return None
            continue
        if kind is int or kind is float:
            numbers.append(value)
            number_attrs.append(attribute)
        elif kind is str:
            number = strings.get(value, 0)
            if number == 0 and not value.isascii():
                return None
            keys.append(UNKNOWN_STRING + number)
            key_attrs.append(attribute)
        elif kind is bool:
            keys.append(TRUE if value else FALSE)
            key_attrs.append(attribute)
        else:
            return None
        if attribute in derived:
            if kind is float and not abs(value) <= INT64_MAX:
                return None
            for other, key in derive(attribute, value):
                keys.append(key)
                key_attrs.append(other)
    return numbers, keys, number_attrs + key_attrs


class Uncommon(Exception):
    """Some event wants the long way."""


def plain_batch(events: Sequence[dict[str, Any]], dictionary: Dictionary, derive: Derive) -> EventBatch:
    """The batch of some events, derived pairs included; Uncommon when one of them wants the long way."""
    numbers: list[float] = []
    keys: list[int] = []
    number_attrs: list[int] = []
    key_attrs: list[int] = []
    counts: list[tuple[int, int]] = []
    for event in events:
        pairs = single_pairs(event, dictionary, derive)
        if pairs is None:
            raise Uncommon
        count = len(pairs[0])
        numbers += pairs[0]
        keys += pairs[1]
        number_attrs += pairs[2][:count]
        key_attrs += pairs[2][count:]
        counts.append((count, len(pairs[1])))
    try:
        values = np.array(numbers, np.float64)
    except OverflowError as problem:  # an integer beyond all floats
        raise Uncommon from problem
    if not np.all(np.abs(values) < EXACT):
        raise Uncommon
    lengths = np.array(counts, np.int64).reshape(-1, 2)
    rows = [np.repeat(np.arange(len(events)), lengths[:, part]) for part in range(2)]
    attrs = np.array(number_attrs + key_attrs, np.int32)
    columns = (
        attrs,
        np.concatenate([number_keys(values), np.array(keys, np.int64)]),
        np.full(len(attrs), -1, np.int32),
    )
    return from_pairs(len(events), np.concatenate(rows), *columns)


def ordinary(name: Any, value: Any) -> bool:
    """Whether a pair that no filter asks about is well-formed at first sight."""
    if name.__class__ is not str or not name.isascii() or not name:
        return False
    kind = value.__class__
    if kind is int:
        return bool(INT64_MIN <= value <= INT64_MAX)
    if kind is float:
        return bool(value - value == 0.0)
    return kind is bool or (kind is str and value.isascii())
