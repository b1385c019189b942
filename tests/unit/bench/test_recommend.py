"""Measuring for the recommendation: what is measured is right, rows are kept, and changes leave the engine as it was."""

from dataclasses import replace

import numpy as np
import pytest

from tamis.bench import recommend
from tamis.bench.recommend import Use, built, cost, measure, row, span, workload
from tamis.encoding.subscriptions import MISSING
from tamis.errors import EngineError
from tamis.workloads.assorted import Assorted, assorted


def small(seed: int) -> Assorted:
    given = assorted(seed)
    return replace(given, shape=replace(given.shape, subscriptions=150, match=0.05, themes=20, events=40), batch=20)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(recommend, "assorted", small)
    monkeypatch.setattr(recommend, "CANDIDATES", ["tamis", "scan"])
    monkeypatch.setattr(recommend, "ROUND_SECONDS", 0.001)


def test_changes_put_back_what_they_take():
    given = replace(small(3), updates=1.0)
    table, events = workload(given)
    engine = built("scan", table)
    before = engine.match(events)
    use = Use(engine, table, events, given)
    assert use.calls(5) > 0
    assert engine.stats().subscriptions == len(table)
    assert engine.match(events).equals(before)


def test_presence_workloads_ask_for_presence_only():
    table, _ = workload(replace(small(1), presence=True))
    assert 0 < (table.ops == MISSING).mean() < 1
    assert len(np.unique(table.lo)) == 2


def test_a_wrong_engine_is_not_measured():
    given = small(4)
    table, events = workload(given)
    wrong = built("scan", table.take(np.arange(len(table) // 2))).match(events.slice(0, recommend.CHECKED))
    with pytest.raises(EngineError, match="engine 'scan' disagrees with scan"):
        cost("scan", table, events, given, wrong, np.inf)


def test_hopeless_engines_are_left_out(quick):
    given = small(5)
    table, events = workload(given)
    expected = built("scan", table).match(events.slice(0, recommend.CHECKED))
    assert cost("scan", table, events, given, expected, 1e-9) == np.inf


def test_rows_are_kept_and_not_measured_again(quick, tmp_path, monkeypatch):
    file = tmp_path / "rows.jsonl"
    first = measure(range(10, 12), file)
    assert [r["seed"] for r in first] == [10, 11]
    assert first[0]["cost"].keys() <= {"tamis", "scan"}
    monkeypatch.setattr(recommend, "row", lambda seed: {**row(seed), "again": True})
    again = measure(range(10, 13), file)
    assert again[:2] == first
    assert again[2]["again"]
    assert len(file.read_text().splitlines()) == 3


def test_seeds_are_a_span():
    assert span("5:8") == range(5, 8)
