"""Arrow columns as NumPy arrays: the few steps that every bulk way in shares."""

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamis.encoding.keys import EXACT, Int64Array

Mask: TypeAlias = NDArray[np.bool_]


def numpy_of(column: pa.Array) -> NDArray[Any]:
    """A column without nulls as an array."""
    return np.asarray(column)


def present(column: pa.Array) -> Mask:
    """Which rows are not null."""
    return np.asarray(column.is_valid(), bool)


def factorise(column: pa.Array) -> tuple[list[Any], Int64Array]:
    """The distinct values of a column, and for each row which of them it is (-1: null)."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)


def coarse_rows(column: pa.Array) -> Mask:
    """Which numbers are too large for exact keys; null is not."""
    values = np.asarray(column.fill_null(0))
    return (values >= EXACT) | (values <= -EXACT)


def finite(column: pa.Array) -> Mask:
    """Which values are neither null nor NaN nor infinite."""
    there = present(column)
    return there & np.isfinite(np.asarray(column.fill_null(0.0))) if pa.types.is_floating(column.type) else there


def column_codes(column: pa.Array) -> NDArray[Any]:
    """Integers, one column or several, that are equal exactly where the values are."""
    if not pa.types.is_large_list(column.type):
        codes = column.dictionary_encode().indices.fill_null(-1)
        return np.asarray(codes).reshape(len(column), 1)
    owner, codes = parents(column), np.asarray(flat(column).dictionary_encode().indices.fill_null(-1))
    position = np.arange(len(owner)) - np.searchsorted(owner, owner)
    padded = np.full((len(column), int(position.max(initial=-1)) + 2), -2, np.int64)
    padded[owner, position] = codes
    padded[:, -1] = present(column)
    return padded


def parents(column: pa.Array) -> Int64Array:
    """For each element of a list column, the row it stands in."""
    return np.asarray(pc.list_parent_indices(column)).astype(np.int64)


def flat(column: pa.Array) -> pa.Array:
    """The elements of a list column."""
    return column.flatten()


def changes(*columns: NDArray[Any]) -> Mask:
    """Where a row differs from the one before it in some column; the first row does."""
    fresh = np.ones(len(columns[0]), bool)
    fresh[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return fresh


def to_mask(column: pa.Array) -> Mask:
    """A boolean column, null as false."""
    return np.asarray(column.fill_null(False), bool)


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    return column.combine_chunks() if not isinstance(column, pa.Array) else column
