from typing import Any

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.prefetch import prefetch


@kernel
def total(values):
    result = 0
    for i in range(len(values)):
        prefetch(values, i + 64)
        result += values[i]
    return result


def test_a_hint_changes_no_result_even_outside_the_array():
    assert total(np.arange(1000, dtype=np.int32)) == 499500
    assert total(np.arange(3, dtype=np.int64)) == 3


def test_the_instruction_is_really_issued():
    total(np.arange(8, dtype=np.int32))
    compiled: Any = total
    compiled.recompile()  # what comes from the cache cannot be looked into
    assert "prefetch" in compiled.inspect_asm(compiled.signatures[0])
