import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays.pool import enlarged, fits, give, new_pool, size_class, take


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 70)), max_size=60))
def test_blocks_never_overlap(steps):
    pool, owner = new_pool(64), np.full(64, -1)
    held: list[tuple[int, int]] = []
    for number, (taking, size) in enumerate(steps):
        if taking or not held:
            block = size_class(size)
            while not fits(pool, block):
                pool = enlarged(pool, 1 << block)
                owner = np.concatenate([owner, np.full(pool.capacity - len(owner), -1)])
            start = take(pool, block)
            assert size <= 1 << block
            assert (owner[start : start + (1 << block)] == -1).all()
            owner[start : start + (1 << block)] = number
            held.append((start, block))
        else:
            start, block = held.pop(size % len(held))
            owner[start : start + (1 << block)] = -1
            give(pool, start, block)


def test_freed_blocks_are_used_again():
    pool = new_pool(1024)
    first = [take(pool, 3) for _ in range(20)]
    top = int(pool.top[0])
    for start in first:
        give(pool, start, 3)
    assert sorted(take(pool, 3) for _ in range(20)) == first
    assert pool.top[0] == top
