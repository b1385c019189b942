"""Experiments with procedures of their own give rows that figures can show."""

from typing import Any

import pytest

from tamis.bench.figures import figure_rows
from tamis.bench.kinds import KINDS, Place
from tamis.bench.results import OK, Result, Run, points
from tamis.bench.spec import load_suite


def outcome(suite: str, group: str, workload: dict[str, Any]) -> Result:
    kind = next(g.kind for g in load_suite(suite).groups if g.name == group)
    run = Run(suite, "quick", group, kind, kind, kind, {}, workload, {}, 1)
    return Result(run, OK, KINDS[kind](run, Place()))


def shown(result: Result, figure: str) -> set[str]:
    suite = load_suite(result.run.suite)
    chosen = next(f for f in suite.figures if f.id == figure)
    rows = [row for row in figure_rows(points([result]), chosen, suite.name, suite.series) if not row.paper]
    assert all(row.y >= 0 for row in rows)
    return {row.series for row in rows}


def test_operators():
    workload = {"subscriptions": 300, "predicates": 200, "popularity": "uniform", "events": 4, "case": "any"}
    found = outcome("operators", "uniform", workload)
    assert shown(found, "4") == {"naive", "sequential", "suborder", "popular", "lower bound"}


def test_drift():
    workload = {"change": "skew", "changes": 5, "subscriptions": 480, "hours": 3, "events": 20}
    found = outcome("fabret-drift", "skew", workload)
    assert shown(found, "4 skew") == {"frozen", "dynamic"}
    assert [row["at"]["hour"] for row in found.rows] == [0, 0, 1, 1, 2, 2]


def test_broker():
    pytest.importorskip("fastapi")
    workload = {"subscriptions": 40, "fan_out": 5, "clients": 2, "batch": [1, 5], "seconds": 0.5, "churn": 1}
    found = outcome("broker", "churn", workload)
    assert shown(found, "churn") == {"broker"}
    assert [row["at"] for row in found.rows] == [{"clients": 2, "batch": 1}, {"clients": 2, "batch": 5}]
    for row in found.rows:
        assert row["values"]["events_per_second"] > 0
        assert 0 < row["values"]["p50_ms"] <= row["values"]["p99_ms"]
