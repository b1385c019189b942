"""The experiments at a size where only their shape can be seen; `compared` itself holds the engines to each other."""

import pytest

from tamis.bench import twostage
from tamis.workloads.fabret import Fabret


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(twostage, "SIZES", {"quick": (300, 600)})
    monkeypatch.setattr(twostage, "ROUNDS", 2)


@pytest.mark.parametrize(
    ("experiment", "sizes", "engines"),
    [
        ("counting", (300, 600, 300), ["lists", "bitmatrix", "matrix"]),
        ("clustered", (300, 600), ["propagation", "propagation+prefetch", "static", "dynamic", "counting"]),
    ],
)
def test_every_engine_is_measured_at_every_size_with_both_stages_apart(experiment, sizes, engines):
    rows = list(twostage.run([experiment], "quick"))
    assert [(row["subscriptions"], row["engine"]) for row in rows] == [(n, e) for n in sizes for e in engines]
    for row in rows:
        low, high = row["event_us_quartiles"]
        assert low <= row["event_us"] <= high
        assert row["stage_two_us"] == max(0.0, row["event_us"] - row["stage_one_us"])
        assert experiment in twostage.shown(row)


def test_engines_that_disagree_are_not_reported():
    table, events = twostage.encoded(Fabret(domain=3), 50, 5)
    with pytest.raises(AssertionError, match="the engines disagree"):
        list(twostage.compared(twostage.INDEXES, table, events, lambda engine, _: id(engine)))
