import struct

import numpy as np
import pytest

from tamis.engines.sql.database import COPY_END, COPY_HEADER, address, copy_rows
from tamis.engines.sql.engine import grouped


def test_equal_pairs_and_only_they_get_equal_numbers():
    rng = np.random.default_rng(1)
    left, right = rng.integers(-3, 4, 200), rng.integers(0, 1 << 62, 5)[rng.integers(0, 5, 200)]
    codes = grouped(left, right)
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    for i, j in zip(*np.triu_indices(200, 1), strict=True):
        assert bool(codes[i] == codes[j]) is (pairs[i] == pairs[j])
    assert len(grouped(left[:0], right[:0])) == 0


def test_rows_are_written_as_the_binary_form_of_copy():
    """The form is documented: count of fields, then length and big-endian bytes of each."""
    columns = (np.array([1, -2], np.int32), np.array([True, False]), np.array([5, -(1 << 40)], np.int64))
    expected = b"".join(
        struct.pack(">hiiibiq", 3, 4, a, 1, b, 8, c)
        for a, b, c in zip(*(column.tolist() for column in columns), strict=True)
    )
    assert copy_rows(columns) == expected
    assert len(COPY_HEADER) == 19
    assert struct.unpack(">h", COPY_END) == (-1,)


def test_an_address_is_told_without_its_password():
    pytest.importorskip("psycopg")
    assert address("host=/nowhere user=x password=secret") == "'user=x host=/nowhere'"
    assert "secret" not in address("postgresql://x:secret@127.0.0.1:1/y")
    assert address("no address") == "the address given"
