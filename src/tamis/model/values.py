"""Scalars: what they are and how they compare.

Numbers are int64 and finite float64, compared exactly with each other; -0.0 equals 0.0; `true` is not 1; a string never
equals a number; strings compare by code point. Values of different kinds are neither equal nor ordered.
"""

import math
from enum import Enum
from typing import TypeAlias

from tamis.errors import EventError

Scalar: TypeAlias = bool | int | float | str

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class Kind(Enum):
    """The comparable families of scalars."""

    BOOL = "bool"
    NUMBER = "number"
    STRING = "string"


def kind(value: Scalar) -> Kind:
    """The family of a scalar; only values of one family compare."""
    if isinstance(value, bool):
        return Kind.BOOL
    return Kind.STRING if isinstance(value, str) else Kind.NUMBER


def check_scalar(value: object, where: str, error: type[Exception] = EventError) -> Scalar:
    """`value` as a plain scalar, or an error that names `where` it stood."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not INT64_MIN <= value <= INT64_MAX:
            raise error(f"{where}: the integer {value} does not fit in 64 bits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise error(f"{where}: {value} is not a finite number")
        return float(value) + 0.0
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise error(f"{where}: the string has a lone surrogate")
        return str.__str__(value)  # the text itself, also of a subclass that prints otherwise
    raise error(f"{where}: {type(value).__name__} is not a scalar (bool, int, float or string)")


def same(left: Scalar, right: Scalar) -> bool:
    """Equality of scalars: within one kind, exact."""
    return kind(left) is kind(right) and left == right


def less(left: Scalar, right: Scalar) -> bool:
    """Order of scalars: within one kind; booleans are not ordered."""
    both = kind(left)
    return both is kind(right) and both is not Kind.BOOL and left < right  # type: ignore[operator]
