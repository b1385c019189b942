"""Runs, each in a process of its own, one after the other; results are kept as they come, so a run of many can be stopped
and taken up again at any time."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from tamis.bench.child import asked
from tamis.bench.postgres import binaries, private_server
from tamis.bench.results import UNAVAILABLE, Result, Run, finished, machine, write

LIMIT = {"quick": 600.0, "full": 3600.0}
"""Seconds after which a run is ended; the first run of an engine may have to compile its kernels."""


def run_all(
    runs: list[Run],
    folder: Path,
    *,
    dsn: str = "",
    fresh: bool = False,
    before: Callable[[list[Run], Path], None] = lambda *_: None,
    begin: Callable[[Run], None] = lambda _: None,
) -> Iterator[tuple[Run, Result, bool]]:
    """Results of all runs, in order; True with those that were there already. A PostgreSQL server is started when a run
    needs one and none is given by `dsn`. `before` is given the runs to come and the folder where they look for workloads;
    `begin` is told of each run that starts."""
    with ExitStack() as stack:
        workloads = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tamis-workloads-")))
        before([run for run in runs if fresh or finished(folder, run) is None], workloads)
        for run in runs:
            known = None if fresh else finished(folder, run)
            if known is not None:
                yield run, known, True
                continue
            begin(run)
            if wants_postgres(run) and not dsn:
                if binaries() is None:
                    reason = "PostgreSQL is not there: no server binaries on this machine, and no --dsn was given"
                    yield run, kept(folder, Result(run, UNAVAILABLE, reason=reason, machine=machine())), False
                    continue
                dsn = stack.enter_context(private_server())
            yield run, kept(folder, run_alone(run, dsn, workloads)), False


def kept(folder: Path, result: Result) -> Result:
    """The result, written."""
    write(folder, result)
    return result


def wants_postgres(run: Run) -> bool:
    """Whether a run needs a server."""
    return run.options.get("database") == "postgresql"


def run_alone(run: Run, dsn: str = "", workloads: Path | None = None) -> Result:
    """One run in a process of its own; what goes wrong there is told by the result."""
    started, stamp = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    about = machine()
    answer = asked(asdict(run), dsn, str(workloads or ""), LIMIT[run.profile])
    seconds = time.perf_counter() - started
    return Result(run, answer["status"], answer.get("rows", []), answer.get("reason", ""), seconds, about, stamp)
