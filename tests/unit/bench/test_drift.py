import pytest

from tamis.bench.drift import DRIFTS, renewed, run


@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: drift.name)
def test_a_small_run_covers_every_hour_for_both(drift):
    """`run` itself holds the two engines to each other's matches."""
    hours = list(run(drift, subscriptions=2400, hours=5, start=2, events=50))
    assert [(h.hour, h.strategy) for h in hours] == [(i, s) for i in range(5) for s in ("frozen", "dynamic")]
    assert all(h.event_microseconds > 0 and h.events_per_second >= 0 for h in hours)


def test_what_could_be_reached_at_best_is_measured_in_the_changed_world():
    assert renewed(DRIFTS[1], subscriptions=2400, events=50) > 0
