import numpy as np
import pytest

from tamis.matcher.dense import FreeIds, Names


@pytest.mark.parametrize("other", ["text", 2**70, -(2**63)])
def test_names_come_back_as_they_were_given(other):
    names = Names()
    for i in range(200):
        names.append(i * 3)
    assert names.of_owned(np.array([5, 0, 199], np.int32)) == [15, 0, 597]
    names[7] = None
    names[8] = other
    assert names.of(np.array([7, 8], np.int32)) == [None, other]
    assert names.of_owned(np.array([8, 5], np.int32)) == [other, 15]
    assert len(names) == len(names.all()) == 200


def test_ids_come_back_oldest_first():
    free = FreeIds()
    assert free.take() is None
    free.release([5, 3])
    free.release([9])
    assert [free.take() for _ in range(4)] == [5, 3, 9, None]


def test_a_match_keeps_what_was_released_after_it_began():
    free = FreeIds()
    free.release([1])
    reader = free.enter()
    free.release([2])
    late = free.enter()
    assert [free.take(), free.take()] == [1, None]
    free.leave(reader)
    assert free.take() == 2
    free.release([3])
    assert free.take() is None
    free.leave(late)
    assert free.take() == 3
