"""Scalars as int64 keys.

    … FALSE TRUE … | numbers, in order | … strings, interned …

A number's key is the bit pattern of its float64, folded so that keys order as numbers do. It is exact for all floats and
for integers below 2^53 in size; larger constants are *coarse* and compared exactly elsewhere (see `dictionary`), while
larger event values keep their order against every exact key. Strings and booleans lie outside the number range, so an
interval of numbers never contains them.
"""

from struct import Struct
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tamis.model.values import Scalar

Int64Array: TypeAlias = NDArray[np.int64]
Int32Array: TypeAlias = NDArray[np.int32]

KEY_MIN, KEY_MAX = -(2**63), 2**63 - 1
NUMBER_MIN, NUMBER_MAX = -0x7FF0000000000000, 0x7FEFFFFFFFFFFFFF
FALSE, TRUE = -0x7FF8000000000000, -0x7FF8000000000000 + 1
UNKNOWN_STRING = 0x7FF8000000000000
EXACT = 2**53
FOLD = 0x7FFFFFFFFFFFFFFF
AS_FLOAT, AS_INTEGER = Struct("<d"), Struct("<q")


def number_keys(values: NDArray[np.generic]) -> Int64Array:
    """Keys of an array of integers or finite floats, any shape."""
    floats = values.astype(np.float64) + 0.0
    bits = floats.view(np.int64)
    return bits ^ ((bits >> 63) & FOLD)


def number_key(value: int | float) -> int:
    """Key of one number: `number_keys` without the arrays."""
    bits: int = AS_INTEGER.unpack(AS_FLOAT.pack(value + 0.0))[0]
    return bits if bits >= 0 else bits ^ FOLD


def numbers(keys: Int64Array) -> NDArray[np.float64]:
    """The numbers behind number keys (the nearest float for coarse ones)."""
    return (keys ^ ((keys >> 63) & FOLD)).view(np.float64)


def is_number(key: int) -> bool:
    """Whether a key stands for a number."""
    return NUMBER_MIN <= key <= NUMBER_MAX


def coarse(value: Scalar) -> bool:
    """Whether a constant is a number too large for its key to be exact."""
    return not isinstance(value, (bool, str)) and abs(value) >= EXACT
