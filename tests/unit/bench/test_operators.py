import itertools

import numpy as np
import pytest

from tamis.bench.operators import Setting, floor, measure, without_memo
from tamis.workloads.operators import OperatorWorkload, operator_workload


@pytest.mark.parametrize("popularity", ["uniform", "zipf"])
def test_schedules_between_floor_and_naive(popularity):
    found = measure(Setting(3000, 1500, popularity), events=10)
    e = found.evaluated
    assert found.floor <= e["popular"] < e["suborder"] < e["sequential"] < e["naive"] < found.without_memo


def test_floor_never_exceeds_the_optimum():
    rng = np.random.default_rng(5)
    for seed in range(60):
        workload = operator_workload(int(rng.integers(2, 9)), 7, longest=4, matching=0.2, seed=seed)
        truth = workload.events(1)[0]
        held = [set(workload.preds[a:b].tolist()) for a, b in itertools.pairwise(workload.offsets)]
        best = min(
            len(chosen)
            for size in range(8)
            for chosen in map(set, itertools.combinations(range(7), size))
            if all(any(not truth[p] for p in s & chosen) or s <= chosen for s in held)
        )
        assert floor(workload, truth) <= best + 1e-9


def test_without_memo_by_hand():
    workload = OperatorWorkload(np.array([0, 3, 5]), np.array([0, 1, 2, 1, 2], np.int32), np.full(3, 0.5), 0)
    assert without_memo(workload, np.array([1, 1, 1], np.int8)) == 5
    assert without_memo(workload, np.array([0, 1, 1], np.int8)) == 3
    assert without_memo(workload, np.array([1, 0, 1], np.int8)) == 3
