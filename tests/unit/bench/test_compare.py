import itertools
import random

import pytest
from tests.unit.bench.sets import result

from tamis.bench.compare import chance, compare

FIVE = [10.0, 10.1, 10.2, 10.3, 10.4]


def test_changes_are_told_from_noise():
    before = [result("left", 50, FIVE), result("right", 50, FIVE), result("left", 100, FIVE)]
    after = [
        result("left", 50, [20.0, 20.5, 21.0, 20.2, 20.1]),  # twice as slow, far outside the spread
        result("right", 50, [9.0, 10.25, 14.0, 10.15, 12.0]),  # noisy, medians alike
        result("left", 100, [10.5, 10.6, 10.7, 10.8, 10.9]),  # certain but small
        result("right", 100, FIVE),  # only in one set
    ]
    changes = {(c.what, c.metric): c for c in compare(before, after) if c.metric == "batch_us"}
    assert len(changes) == 3
    slow, noisy, small = changes.values()
    assert slow.significant(1.1)
    assert not slow.better
    assert slow.factor == pytest.approx(20.2 / 10.2)
    assert not noisy.significant(1.01)
    assert small.significant(1.01)
    assert not small.significant(1.1)


def test_the_probability_is_that_of_counting_all_arrangements():
    dice = random.Random(3)
    for sizes in ((3, 4), (5, 5), (2, 6)):
        first = [dice.random() for _ in range(sizes[0])]
        second = [dice.random() + 0.3 for _ in range(sizes[1])]
        everything = first + second
        wins = lambda left, right: sum(a > b for a, b in itertools.product(left, right))  # noqa: E731
        middle = len(first) * len(second) / 2
        distance = abs(wins(first, second) - middle)
        outcomes = [
            abs(wins(chosen, [x for x in everything if x not in chosen]) - middle) >= distance
            for chosen in itertools.combinations(everything, len(first))
        ]
        assert chance(first, second) == pytest.approx(sum(outcomes) / len(outcomes))
    assert chance(FIVE, [x + 1 for x in FIVE]) == pytest.approx(2 / 252)
    assert chance([1.0] * 10, [1.0] * 10) == pytest.approx(1.0)
    assert chance(FIVE * 3, [x + 1 for x in FIVE * 3]) < 1e-4
    assert chance([5.0], [5.0]) == 1.0
    assert chance([5.0], [6.0]) == 0.0


def test_repeated_runs_are_pooled():
    from dataclasses import replace

    first = result("left", 50, [1.0, 1.0])
    second = replace(first, run=replace(first.run, repeat=1), rows=[{"samples": {"batch_us": [3.0, 3.0]}}])
    changes = [c for c in compare([first, second], [first]) if c.metric == "batch_us"]
    assert [change.before for change in changes] == [2.0]
