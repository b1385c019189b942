import numpy as np

from tamis.encoding.matches import MatchSet


def matches(*events):
    offsets = np.cumsum([0, *map(len, events)]).astype(np.int64)
    return MatchSet(offsets, np.array([i for ids in events for i in ids], np.int32))


def test_order_within_an_event_does_not_matter():
    assert matches([3, 1], [], [2]).equals(matches([1, 3], [], [2]))
    assert not matches([3, 1], [], [2]).equals(matches([1], [3], [2]))


def test_concat_and_pairs():
    joined = MatchSet.concat([matches([3, 1]), matches(), matches([], [2])])
    assert joined.equals(matches([1, 3], [], [2]))
    assert [column.tolist() for column in joined.pairs()] == [[0, 0, 2], [3, 1, 2]]
    assert len(MatchSet.concat([])) == 0
