import numpy as np

from tamis.workloads.fabret import Fabret


def test_the_same_seed_gives_the_same_rows_and_another_does_not():
    workload = Fabret()
    assert workload.subscriptions(50, 1).equals(workload.subscriptions(50, 1))
    assert not workload.subscriptions(50, 1).equals(workload.subscriptions(50, 2))
    assert workload.events(20, 1).equals(workload.events(20, 1))


def test_subscriptions_have_the_shape_asked_for():
    rows = Fabret(focus=(16, 32), inequalities=1, hot=2).subscriptions(200, 3, first=1000).to_pydict()
    attributes = np.array(rows["attribute"]).reshape(200, 5)
    assert {tuple(row[:2]) for row in attributes} == {("a16", "a17")}
    assert all(len(set(row)) == 5 for row in attributes)
    assert {int(name[1:]) for name in attributes[:, 2:].ravel()} == set(range(18, 32))
    values = np.array(rows["integer"]).reshape(200, 5)
    assert set(values[:, :2].ravel()) == {1, 2}
    assert (values.min(), values.max()) == (1, 35)
    assert np.array(rows["operator"]).reshape(200, 5).tolist() == [["=", "=", "=", "=", "<="]] * 200
    assert rows["subscription"][::5] == list(range(1000, 1200))


def test_events_have_all_attributes_and_hot_values_where_asked():
    events = Fabret(hot=3).events(300, 1)
    assert events.num_columns == 32
    assert set(events["a0"].to_pylist()) == {1, 2, 3}
    assert len(set(events["a5"].to_pylist())) == 35
