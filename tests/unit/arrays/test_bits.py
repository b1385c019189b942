import numpy as np

from tamis.arrays.bits import has_bit, lowest_bit


def test_bits_are_found_where_they_were_set():
    words = np.zeros(3, np.uint64)
    for i in (0, 63, 64, 130):
        words[i // 64] |= np.uint64(1) << np.uint64(i % 64)
    assert [i for i in range(192) if has_bit(words, i)] == [0, 63, 64, 130]


def test_lowest_bit():
    for i in range(64):
        assert lowest_bit(np.uint64((1 << 63 | 1 << i) & 0xFFFFFFFFFFFFFFFF)) == i
