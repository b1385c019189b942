"""Losing a Python worker and an executor in the middle of a job changes nothing in its output."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.spark.cluster_driver import TASKS

import tamis.spark as ts

DRIVER = Path(__file__).with_name("cluster_driver.py")
WORKLOAD = ts.Workload(attributes=30, values=50, templates=10, per_event=10, predicates=3, around=0.5, seed=11)


def run_to_its_end(command, timeout):
    """(exit code, output) of a process; whatever it started ends with it."""
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        told, _ = process.communicate(timeout=timeout)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, told


def test_killed_workers_and_executors(spark, tmp_path):
    events, index, output = tmp_path / "events", tmp_path / "index", tmp_path / "output"
    ts.generate_events(spark, WORKLOAD, 2_400, 4).write.parquet(str(events))
    ts.compile_index(ts.generate_predicates(spark, WORKLOAD, 1_000, 2), index)
    columns = ts.EventColumns(spread=("attributes",))
    expected = ts.match(spark.read.parquet(str(events)), index, columns=columns).collect()
    code, told = run_to_its_end([sys.executable, str(DRIVER), str(events), str(index), str(output)], timeout=420)
    assert code == 0, told
    for kind in ("worker", "executor"):
        killed = re.search(rf"killed {kind} after (\d+) tasks", told)
        assert killed is not None, told
        assert 2 <= int(killed[1]) < TASKS
    assert "finished: True" in told
    found = spark.read.parquet(str(output)).collect()
    assert len(expected) > 1000
    assert sorted(map(tuple, found)) == sorted(map(tuple, expected))
