import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays.numbers import give_number, take_number


@settings(max_examples=60)
@given(st.lists(st.booleans(), max_size=80), st.integers(0, 2))
def test_numbers_are_unique_and_used_again(steps, at):
    """The twin is a stack of free numbers; the other cells of `top` stay as they are."""
    top = np.full(6, 77, np.int64)
    top[at : at + 3] = 0, -1, 0
    chain = np.zeros(80, np.int32)
    used: list[int] = []
    free: list[int] = []
    made = 0
    for taking in steps:
        if taking:
            expected = free.pop() if free else made
            made = max(made, expected + 1)
            assert take_number(top, at, chain) == expected
            used.append(expected)
        elif used:
            free.append(used.pop(len(used) // 2))
            give_number(top, at, chain, free[-1])
    assert top[at] == made
    assert top[at + 2] == len(used) == len(set(used))
    assert np.count_nonzero(top == 77) == 3
