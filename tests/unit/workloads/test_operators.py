import numpy as np
import pytest

from tamis.workloads.operators import operator_workload


@pytest.mark.parametrize("popularity", ["uniform", "zipf"])
def test_as_the_paper_describes_it(popularity):
    workload = operator_workload(3000, 500, popularity, longest=7, seed=3)
    lengths = np.diff(workload.offsets)
    assert (lengths.min(), lengths.max()) == (3, 7)
    for i in range(len(workload)):
        chosen = workload.preds[workload.offsets[i] : workload.offsets[i + 1]]
        assert len(set(chosen.tolist())) == len(chosen)
    expected = np.multiply.reduceat(workload.selectivity[workload.preds], workload.offsets[:-1]).mean()
    assert expected == pytest.approx(0.002, rel=1e-3)
    counts = np.bincount(workload.preds, minlength=500)
    if popularity == "zipf":
        assert counts[0] > 5 * counts[20] > 0
    table = workload.events(200)
    assert table.mean(axis=0) == pytest.approx(workload.selectivity, abs=0.2)
    assert np.array_equal(table, operator_workload(3000, 500, popularity, longest=7, seed=3).events(200))


def test_lengths_must_fit():
    with pytest.raises(ValueError, match="do not fit"):
        operator_workload(10, 4)
