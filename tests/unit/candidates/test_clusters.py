import numpy as np
import pytest

from tamis.candidates.clusters import check


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("width", range(7))
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 200])
def test_check_finds_the_rows_whose_columns_are_all_set(width, size, ahead):
    random = np.random.default_rng(width * 1000 + size)
    start, room = 24, size + 3
    cells = np.full(start + (width + 1) * room, -1, np.int32)
    columns = random.integers(0, 300, (width, size))
    for k in range(width):
        cells[start + k * room : start + k * room + size] = columns[k]
    line = random.permutation(10_000)[:size]
    cells[start + width * room : start + width * room + size] = line
    truth = random.random(300) < 0.8
    bits = np.zeros(5, np.uint64)
    for p in np.flatnonzero(truth):
        bits[p >> 6] |= np.uint64(1) << np.uint64(p & 63)
    found = np.zeros(size + 1, np.int32)
    found[0] = -7
    n = check(cells, start, room, size, width, bits, ahead, found, 1)
    assert found[:n].tolist() == [-7, *line[truth[columns].all(axis=0)]]
