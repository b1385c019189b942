import numpy as np
import pytest

from tamis.workloads.topss import OPERATORS, Topss


def test_the_same_seed_gives_the_same_rows_and_another_does_not():
    workload = Topss()
    assert workload.subscriptions(50, 1).equals(workload.subscriptions(50, 1))
    assert not workload.subscriptions(50, 1).equals(workload.subscriptions(50, 2))
    assert workload.events(20, 1).equals(workload.events(20, 1))


def test_subscriptions_are_on_different_attributes_within_their_domains():
    workload = Topss(attributes=6, predicates=4, domains=(3, 50))
    rows = workload.subscriptions(500, 3, first=10).to_pydict()
    attributes = np.array([int(name[1:]) for name in rows["attribute"]]).reshape(500, 4)
    assert all(len(set(row)) == 4 for row in attributes.tolist())
    values = np.array(rows["integer"]).reshape(500, 4)
    for parity, size in ((0, 3), (1, 50)):
        assert set(values[attributes % 2 == parity].tolist()) == set(range(size))
    assert set(rows["operator"]) == set(OPERATORS)
    assert rows["subscription"][::4] == list(range(10, 510))


def test_single_predicates_are_all_different_and_exhaust_what_there_is():
    workload = Topss(attributes=3, domains=(2, 5))
    assert workload.distinct == 4 * (2 + 5 + 2)
    rows = workload.single_predicates(workload.distinct, 1).to_pydict()
    assert len(set(zip(rows["attribute"], rows["operator"], rows["integer"], strict=True))) == workload.distinct
    with pytest.raises(ValueError, match="only 36 different predicates"):
        workload.single_predicates(37, 1)


def test_the_chosen_domains_give_the_bits_the_paper_reports():
    """A bit matrix of all predicates × 5 M subscriptions: the paper says about 248 MB."""
    assert Topss().distinct * 5_000_000 / 8 / 1e6 == pytest.approx(248, rel=0.01)
