"""Vector primitives against loops, and the evidence that the machine code is vector code."""

import re
from typing import Any

import numpy as np
import pytest

from tamis.arrays.jit import kernel
from tamis.arrays.simd import LANES, append_masked, range_mask


@kernel
def mask_of(columns, at, value):
    return range_mask(columns, at, value)


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


def test_append_masked_equals_a_loop_and_writes_no_further():
    rng = np.random.default_rng(2)
    items = rng.integers(-9, 9, 3 * LANES).astype(np.int32)
    for mask in (0, 1, 0xFFFFFFFF, 0x80000001, int(rng.integers(0, 2**32))):
        out = np.full(LANES + 3, 77, np.int32)
        count = appended(items, 7, np.uint32(mask), out, 2)
        wanted = [items[7 + k] for k in range(LANES) if mask >> k & 1]
        assert out[2:count].tolist() == wanted
        assert set(out[count:]) <= {77}


def test_the_comparison_is_compiled_to_packed_instructions():
    mask_of(np.zeros(2 * LANES, np.uint16), 0, np.uint32(0))
    compiled: Any = mask_of
    compiled.recompile()  # what comes from the cache cannot be looked into
    (listing,) = [text for signature, text in compiled.inspect_llvm().items() if "uint16" in str(signature)]
    assert re.search(r"icmp u[gl]e <32 x i16>", listing)
