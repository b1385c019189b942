import numpy as np
import pytest

from tamis.workloads.operators import operator_workload


@pytest.mark.parametrize("events", ["planted", "independent"])
@pytest.mark.parametrize("popularity", ["uniform", "zipf"])
def test_as_the_paper_describes_it(popularity, events):
    workload = operator_workload(3000, 500, popularity, longest=7, events=events, seed=3)
    lengths = np.diff(workload.offsets)
    assert (lengths.min(), lengths.max()) == (3, 7)
    for i in range(len(workload)):
        chosen = workload.preds[workload.offsets[i] : workload.offsets[i + 1]]
        assert len(set(chosen.tolist())) == len(chosen)
    counts = np.bincount(workload.preds, minlength=500)
    if popularity == "zipf":
        assert counts[0] > 5 * counts[20] > 0
    table = workload.events(400)
    assert table.mean(axis=0) == pytest.approx(workload.selectivity, abs=0.2)
    share = np.logical_and.reduceat(table[:, workload.preds] == 1, workload.offsets[:-1], axis=1).mean()
    assert share == pytest.approx(0.002, rel=0.4)
    again = operator_workload(3000, 500, popularity, longest=7, events=events, seed=3)
    assert np.array_equal(table, again.events(400))


def test_independent_predicates_match_as_often_as_wanted():
    workload = operator_workload(3000, 500, "zipf", events="independent")
    expected = np.multiply.reduceat(workload.selectivity[workload.preds], workload.offsets[:-1]).mean()
    assert expected == pytest.approx(0.002, rel=1e-3)


def test_planted_subscriptions_match_and_nothing_else_is_true():
    workload = operator_workload(3000, 500, "uniform", events="planted", seed=1)
    for truth in workload.events(20):
        matched = np.logical_and.reduceat(truth[workload.preds] == 1, workload.offsets[:-1])
        assert matched.sum() >= workload.planted > 0
        held = np.unique(workload.preds[np.repeat(matched, np.diff(workload.offsets))])
        assert np.array_equal(held, np.flatnonzero(truth))


def test_lengths_must_fit():
    with pytest.raises(ValueError, match="do not fit"):
        operator_workload(10, 4)
