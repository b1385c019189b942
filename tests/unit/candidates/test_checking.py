import numpy as np
import pytest

from tamis.arrays.pool import new_pool
from tamis.arrays.slots import new_slots
from tamis.candidates.clusters.checking import SIEVED, check, sieve_entry, sift
from tamis.candidates.clusters.placing import Access, Clusters


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("width", range(7))
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 200, 3 * SIEVED + 5])
def test_check_and_sieve_find_the_rows_whose_columns_are_all_set(width, size, ahead):
    random = np.random.default_rng(width * 1000 + size)
    start, room = 24, size + 3
    cells = np.full(start + (width + 1) * room, -1, np.int32)
    columns = random.integers(0, 300, (width, size))
    for k in range(width):
        cells[start + k * room : start + k * room + size] = columns[k]
    line = random.permutation(10_000)[:size].astype(np.int32)
    cells[start + width * room : start + width * room + size] = line
    truth = random.random(300) < 0.8
    bits = np.zeros(5, np.uint64)
    for p in np.flatnonzero(truth):
        bits[p >> 6] |= np.uint64(1) << np.uint64(p & 63)
    found = np.zeros(size + 1, np.int32)
    found[0] = -7
    if ahead:
        access, clusters = one_cluster(cells, start, room, size, width)
        at, of = np.zeros(2 * SIEVED, np.int64), np.zeros(2 * SIEVED, np.int32)
        survivors, n = sieve_entry(access, clusters, 0, bits, at, of, 0, found, 1)
        n = sift(clusters, bits, at, of, survivors, found, n)
    else:
        n = check(cells, start, room, size, width, bits, found, 1)
    assert found[:n].tolist() == [-7, *line[truth[columns].all(axis=0)]]


def one_cluster(cells, start, room, size, width):
    """Entry 0 with cluster 0 and nothing else."""
    few, one, counts = np.zeros(1, np.int32), lambda value: np.array([value], np.int32), np.ones(2, np.int64)
    keys, place = np.zeros((1, 4), np.int32), np.zeros((1, 2), np.int32)
    access = Access(few, keys, np.zeros(1), one(size), few, few, new_slots(2), few, counts, np.zeros(1))
    return access, Clusters(
        np.array([start], np.int64), np.ones(1, np.int8), one(room), one(size), one(width), one(-1), few, place, cells,
        new_pool(), few, counts,
    )  # fmt: skip
