"""Random workloads: the same for a seed, sensible for every seed, of many kinds."""

from tamis.workloads.assorted import DRAWS, LEAST, MOST, assorted

SEEDS = range(300)


def test_a_seed_is_a_workload():
    assert [assorted(seed) for seed in SEEDS] == [assorted(seed) for seed in SEEDS]


def test_every_workload_can_be_drawn():
    for given in map(assorted, SEEDS):
        shape = given.shape
        assert LEAST <= shape.subscriptions <= MOST
        assert shape.subscriptions * shape.attributes <= DRAWS
        assert 1 <= shape.predicates[0] <= shape.predicates[1] <= shape.pairs[0] <= shape.pairs[1] <= shape.attributes
        assert 0 <= shape.equality <= 1
        assert 0 < shape.match <= 0.05


def test_all_kinds_occur():
    drawn = [assorted(seed) for seed in SEEDS]
    assert {given.batch for given in drawn} == {1, 10, 100, 1000}
    assert {given.updates for given in drawn} == {0.0, 0.01, 0.1, 1.0}
    assert {(given.presence, given.shape.strings) for given in drawn} == {(False, False), (False, True), (True, False)}
    assert {given.shape.zipf for given in drawn} == {given.shape.templates > 0 for given in drawn} == {False, True}
