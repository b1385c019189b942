import random

import pytest

from tamis.operators.breaker import Breaker
from tamis.operators.estimates import Estimates


def test_averages_start_at_the_hint_and_follow_the_world():
    estimates, rng = Estimates(), random.Random(1)
    for p in range(40):
        estimates.admit(p, 0.5, 1.0)
    for _ in range(2000):
        estimates.observe(7, rng.random() < 0.1, 0.01)
    selectivity, cost = estimates.arrays()
    assert selectivity[7] == pytest.approx(0.1, abs=0.08)
    assert cost[7] == pytest.approx(0.01, rel=0.01)
    assert (selectivity[8], cost[8]) == (0.5, 1.0)
    for _ in range(400):
        estimates.observe(7, True, 0.2)
    assert selectivity[7] > 0.95
    assert cost[7] == pytest.approx(0.2, rel=0.05)


def test_a_failure_says_nothing_of_selectivity():
    estimates = Estimates()
    estimates.admit(0, 0.3, 1.0)
    estimates.observe(0, None, 5.0)
    assert estimates.selectivity[0] == 0.3
    assert estimates.cost[0] > 1.0


def test_breaker_opens_and_tries_again():
    now = [0.0]
    breaker = Breaker(3, 10.0, lambda: now[0])
    for _ in range(2):
        breaker.failed()
    assert breaker.allows()
    assert breaker.state == "closed"
    breaker.failed()
    assert not breaker.allows()
    assert breaker.state == "open"
    now[0] = 10.0
    assert breaker.allows()
    assert not breaker.allows(), "one trial at a time"
    breaker.failed()
    now[0] = 15.0
    assert not breaker.allows()
    now[0] = 20.0
    assert breaker.allows()
    breaker.succeeded()
    assert breaker.allows()
    assert breaker.state == "closed"
