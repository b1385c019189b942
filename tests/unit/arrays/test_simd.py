"""Vector primitives against loops, and the evidence that the machine code is vector code."""

import re
from typing import Any

import numpy as np
import pytest

from tamis.arrays.jit import kernel
from tamis.arrays.simd import LANES, append_masked, equal_mask, range_mask


@kernel
def mask_of(columns, at, value):
    return range_mask(columns, at, value)


@kernel
def equal_of(columns, at, value):
    return equal_mask(columns, at, value)


@kernel
def appended(items, at, mask, out, count):
    return append_masked(items, at, mask, out, count)


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_range_mask_equals_a_loop(kind):
    rng = np.random.default_rng(1)
    columns = rng.integers(0, 50, 6 * LANES).astype(kind)
    columns[5], columns[LANES + 5] = 0, np.iinfo(kind).max
    for at in (0, 1, 2 * LANES):
        for value in (0, 1, 20, 49, np.iinfo(kind).max):
            wanted = [columns[at + k] <= value <= columns[at + LANES + k] for k in range(LANES)]
            assert mask_of(columns, at, np.uint32(value)) == sum(1 << k for k, holds in enumerate(wanted) if holds)


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_equal_mask_equals_a_loop(kind):
    columns = np.random.default_rng(3).integers(0, 5, 3 * LANES).astype(kind)
    columns[9] = np.iinfo(kind).max
    for at in (0, 1, LANES):
        for value in (0, 1, 4, np.iinfo(kind).max):
            wanted = [columns[at + k] in (0, value) for k in range(LANES)]
            assert equal_of(columns, at, np.uint32(value)) == sum(1 << k for k, holds in enumerate(wanted) if holds)


def test_append_masked_equals_a_loop_and_writes_no_further():
    rng = np.random.default_rng(2)
    items = rng.integers(-9, 9, 3 * LANES).astype(np.int32)
    for mask in (0, 1, 0xFFFFFFFF, 0x80000001, int(rng.integers(0, 2**32))):
        out = np.full(LANES + 3, 77, np.int32)
        count = appended(items, 7, np.uint32(mask), out, 2)
        wanted = [items[7 + k] for k in range(LANES) if mask >> k & 1]
        assert out[2:count].tolist() == wanted
        assert set(out[count:]) <= {77}


@pytest.mark.parametrize(("function", "comparison"), [(mask_of, "icmp u[gl]e"), (equal_of, "icmp eq")])
def test_the_comparison_is_compiled_to_packed_instructions(function, comparison):
    function(np.zeros(2 * LANES, np.uint16), 0, np.uint32(0))
    compiled: Any = function
    compiled.recompile()  # what comes from the cache cannot be looked into
    (listing,) = [text for signature, text in compiled.inspect_llvm().items() if "uint16" in str(signature)]
    assert re.search(f"{comparison} <32 x i16>", listing)
