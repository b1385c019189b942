"""Kernels compiled before anything is measured."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.bench.sets import small_suite

from tamis.bench import rehearsal
from tamis.bench.prepare import prepare
from tamis.bench.rehearsal import WARM, lay_out, mark, rehearse, shrunk
from tamis.bench.results import FAILED, OK, Run
from tamis.bench.spec import load_suite, plan


class Rehearsals(list[Run]):
    """Runs that were rehearsed, and how all of them went."""

    status = OK

    def __call__(self, run: Run, workloads: str) -> str:
        self.append(run)
        return self.status


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """In a place where nothing was rehearsed before."""
    monkeypatch.setattr(rehearsal, "cache_of", lambda file: tmp_path / file.stem)
    monkeypatch.setattr(rehearsal, "is_warm", lambda: False)
    seen = Rehearsals()
    monkeypatch.setattr(rehearsal, "rehearsed", seen)
    return seen


def test_each_variant_is_rehearsed_once_and_not_again_in_the_next_session(asked):
    runs = plan(load_suite("pubsub"), "quick")
    told: list[str] = []
    rehearse(runs, told.append)
    assert asked[0] == WARM
    variants = [(run.label, run.options) for run in asked[1:]]
    assert len(variants) == len({run.label for run in runs})
    assert "compiling kernels, engine variants: 6;" in told[0]
    rehearse(runs, told.append)
    assert len(told) == 1


def test_what_failed_is_rehearsed_again(asked):
    asked.status = FAILED
    runs = plan(small_suite(), "quick")
    rehearse(runs, lambda _: None)
    count = len(asked)
    rehearse(runs, lambda _: None)
    assert len(asked) == 2 * count > 0


def test_small_workloads_keep_what_decides_about_kernels():
    run = next(run for run in plan(load_suite("pubsub"), "quick") if run.group == "buckets")
    small = shrunk(run)
    assert small.options == {"structure": "it"}
    assert small.workload == run.workload | {"subscriptions": 300, "events": 20}
    assert shrunk(plan(load_suite("reference"), "quick")[0]).workload["scale"] < 0.1
    assert mark(small) == mark(shrunk(replace(run, workload=run.workload | {"attributes": 3})))
    assert mark(small) != mark(replace(small, engine="tamis"))


def test_runs_without_kernels_of_their_own_are_left_alone(asked):
    rehearse(plan(load_suite("broker"), "quick") + plan(load_suite("spark"), "quick"), pytest.fail)
    assert asked == []


def test_a_small_run_measures(tmp_path):
    assert rehearsal.rehearsed(shrunk(plan(small_suite(), "quick")[0]), "") == OK


def test_workloads_are_left_where_runs_find_them(tmp_path):
    runs = plan(small_suite(), "quick")
    lay_out([*runs, replace(runs[0], profile="full", seed=7)], tmp_path)
    assert len(list(tmp_path.iterdir())) == len({run.workload["subscriptions"] for run in runs}) == 3
    before = prepare(runs[0].workload, runs[0].seed)
    again = prepare(runs[0].workload, runs[0].seed, tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    assert np.array_equal(before.table.lo, again.table.lo)
    assert before.expected.equals(again.expected)
