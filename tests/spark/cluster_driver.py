"""A match on a cluster of two executors, in a process of its own, that loses a Python worker and an executor on the way.

Arguments: events, index and output directories. Says after how many of its tasks it killed what, and how many there were.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

import tamis.spark as ts
from tamis.spark.memory import is_worker
from tamis.spark.request import Batches
from tamis.spark.session import SHORT

TASKS = 24
PAUSE = 0.4


def slowly(batches: Batches) -> Batches:
    """Events as they are, but no faster than one can kill."""
    for batch in batches:
        time.sleep(PAUSE)
        yield batch


def running(wanted: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    """Processes below this one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if wanted(process):
                found.append(process)
        except psutil.Error:
            continue
    return found


def is_executor(process: psutil.Process) -> bool:
    return process.name() == "java" and any("CoarseGrainedExecutorBackend" in part for part in process.cmdline())


def finished(output: str) -> int:
    """Tasks that have committed their files, while the job runs."""
    return len(list(Path(output).glob("_temporary/0/task_*")))


def kill_after(tasks: int, output: str, kind: str, wanted: Callable[[psutil.Process], bool]) -> None:
    """Kill one process of a kind when so many tasks are done."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        if finished(output) >= tasks and (found := running(wanted)):
            os.kill(found[0].pid, signal.SIGKILL)
            print(f"killed {kind} after {finished(output)} tasks", flush=True)  # noqa: T201
            return
        time.sleep(0.02)
    raise SystemExit(f"no {kind} to kill after {finished(output)} tasks")


def main(events: str, index: str, output: str) -> None:
    spark = ts.local_session(
        "local-cluster[2,1,1024]",
        memory="512m",
        partitions=4,
        spark_executor_memory="512m",
        spark_task_maxFailures=8,
        **SHORT,
    )
    frame = spark.read.parquet(events)
    frame = frame.repartition(TASKS).mapInArrow(slowly, frame.schema)
    found = ts.match(frame, index, columns=ts.EventColumns(spread=("attributes",)))
    job = threading.Thread(target=lambda: found.write.parquet(output))
    job.start()
    kill_after(2, output, "worker", is_worker)
    kill_after(6, output, "executor", is_executor)
    job.join(200)
    print(f"finished: {(Path(output) / '_SUCCESS').exists()}", flush=True)  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
