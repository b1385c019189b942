from tamis.matcher.dense import FreeIds


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
