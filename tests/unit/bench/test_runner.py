"""Runs in processes of their own, kept, resumed, and failing in ways that are told."""

import json
import multiprocessing
import threading
import time
from dataclasses import replace

import pytest
from tests.unit.bench.sets import result, small_suite

from tamis.bench import runner
from tamis.bench.results import FAILED, OK, REFUSED, UNAVAILABLE, Result, Run, finished, read, read_all, write
from tamis.bench.runner import run_all, run_alone
from tamis.bench.spec import plan
from tamis.errors import DataError


@pytest.fixture(scope="module")
def runs():
    return plan(small_suite(), "quick")


def test_a_run_is_measured_kept_and_not_run_again(runs, tmp_path):
    first = list(run_all(runs[:1], tmp_path))
    (_, found, known), file = first[0], tmp_path / runs[0].file
    assert (found.status, known, found.reason) == (OK, False, "")
    row = found.rows[0]
    assert row["samples"]["batch_us"]
    assert row["values"]["subscriptions"] == 50
    assert row["values"]["bytes_held"] > 0
    assert row["values"]["rss_bytes"] > 0
    assert row["checked_events"] == 10
    assert read(file) == found
    assert json.loads(file.read_text())["machine"]["cores"] >= 1
    stamp = file.stat().st_mtime_ns
    assert [known for _, _, known in run_all(runs[:1], tmp_path)] == [True]
    assert file.stat().st_mtime_ns == stamp


def test_an_interrupted_run_goes_on_where_it_stopped(runs, tmp_path, monkeypatch):
    done: list[Run] = []

    def stopped(run, *_):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(run)
        return Result(run, OK)

    monkeypatch.setattr(runner, "run_alone", stopped)
    with pytest.raises(KeyboardInterrupt):
        list(run_all(runs, tmp_path))
    assert done == runs[:2]
    monkeypatch.setattr(runner, "run_alone", lambda run, *_: Result(run, OK))
    assert [known for _, _, known in run_all(runs, tmp_path)] == [True, True, False, False, False]


def test_what_failed_is_tried_again_and_what_was_refused_is_not(runs, tmp_path):
    for run, status, kept in zip(runs, (FAILED, UNAVAILABLE, REFUSED, OK), (False, False, True, True), strict=False):
        write(tmp_path, Result(run, status, reason="so"))
        assert (finished(tmp_path, run) is not None) is kept


def test_results_of_other_versions_are_named_and_skipped(tmp_path):
    good = result("left", 50, [1.0])
    write(tmp_path, good)
    other = write(tmp_path, result("right", 50, [1.0]))
    other.write_text(other.read_text().replace('"format": 1', '"format": 99'))
    older = write(tmp_path, replace(result("left", 100, [1.0]), tamis="0.0.1"))
    (tmp_path / "quick" / "small" / "stray.json").write_text("{")
    found, skipped = read_all(tmp_path)
    assert found == [good]
    assert len(skipped) == 3
    assert any(f"{other}: result of format 99, this version reads 1" in line for line in skipped)
    assert any(f"{older}: made by tamis 0.0.1" in line for line in skipped)
    assert any("stray.json: not a result of tamis bench" in line for line in skipped)
    assert len(read_all(tmp_path, any_version=True)[0]) == 2
    with pytest.raises(DataError, match="there are no results in"):
        read_all(tmp_path / "nothing")


def test_what_goes_wrong_in_a_child_is_told_by_the_result(runs):
    unknown = replace(runs[0], workload={"kind": "topps", "subscriptions": 5})
    told = run_alone(unknown)
    assert (told.status, told.rows) == (FAILED, [])
    assert "no kind of workload 'topps'; did you mean 'topss'?" in told.reason
    refused = run_alone(replace(runs[1], options={"association": "matrix", "max_bytes": 10}))
    assert refused.status == REFUSED
    away = run_alone(
        replace(runs[0], engine="sql", options={"database": "postgresql"}), dsn="host=/nowhere user=x dbname=x"
    )
    assert (away.status, away.reason[:23]) == (UNAVAILABLE, "cannot reach PostgreSQL")
    broken = run_alone(replace(runs[0], workload={"kind": "topss", "subscriptions": 5, "predicates": "many"}))
    assert broken.status == FAILED
    assert "TypeError" in broken.reason


def test_a_run_that_takes_too_long_is_ended(runs, monkeypatch):
    monkeypatch.setitem(runner.LIMIT, "quick", 0.05)
    assert "not done after" in run_alone(runs[0]).reason


def test_a_process_that_dies_is_told_by_its_status(runs):
    def kill():
        while not (alive := multiprocessing.active_children()):
            time.sleep(0.001)
        alive[0].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    told = run_alone(runs[0])
    killer.join()
    assert (told.status, told.reason) == (FAILED, "the process ended with status -9")


def test_without_postgresql_its_rows_say_so_and_the_rest_runs(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "binaries", lambda: None)
    monkeypatch.setattr(runner, "run_alone", lambda run, *_: Result(run, OK))
    absent = replace(runs[0], engine="sql", options={"database": "postgresql"})
    found = [result for _, result, _ in run_all([absent, runs[1]], tmp_path)]
    assert [each.status for each in found] == [UNAVAILABLE, OK]
    assert "PostgreSQL is not there" in found[0].reason
