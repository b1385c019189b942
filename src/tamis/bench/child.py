"""The process of one run: told what to run, it measures, sends what it found and ends.

Importing numpy, numba and the engines takes longer than many a run. A server process does that once and nothing else;
every run is a fork of it: a process of its own that has modules and neither kernels nor workloads of other runs.
"""

import json
import multiprocessing
import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tamis.bench.kinds import KINDS, Place
from tamis.bench.results import FAILED, OK, REFUSED, UNAVAILABLE, Run
from tamis.engines.registry import ENGINES
from tamis.errors import DataError, Disagreement, EngineError, MissingExtra, TamisError

PROCESSES = multiprocessing.get_context("forkserver")
ENGINE_MODULES = [place.partition(":")[0] for name, place in ENGINES.items() if name != "sql"]
PROCESSES.set_forkserver_preload([__name__, "tamis.bench.measure", "tamis.bench.prepare", *ENGINE_MODULES])

GRACE = 10.0
"""Seconds that a process which is told to end has for putting away servers and files."""


def asked(run: dict[str, Any], dsn: str, workloads: str, limit: float) -> dict[str, Any]:
    """What a process of its own answers within so many seconds, or why it does not."""
    here, there = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(target=serve, args=(run, dsn, workloads, there))
    child.start()
    there.close()
    try:
        if not here.poll(limit):
            return {"status": FAILED, "reason": f"not done after {limit:,.0f} s"}
        found: dict[str, Any] = json.loads(here.recv_bytes())
        child.join(GRACE)
        return found
    except EOFError:
        child.join()
        return {"status": FAILED, "reason": f"the process ended with status {child.exitcode}"}
    finally:
        if child.is_alive():
            child.terminate()
            child.join(GRACE)
            child.kill()
            child.join()
        here.close()


def serve(run: dict[str, Any], dsn: str, workloads: str, there: Connection) -> None:
    """Measure and send the answer. Only who asked ends this process; then it puts away what it started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        found = answer(Run(**run), Place(Path(workloads) if workloads else None, dsn))
        there.send_bytes(json.dumps(found).encode())


def answer(run: Run, place: Place) -> dict[str, Any]:
    """Status, rows and reason of a run."""
    try:
        if run.kind not in KINDS:
            raise DataError(f"there is no kind of experiment {run.kind!r}")
        return {"status": OK, "rows": KINDS[run.kind](run, place)}
    except MissingExtra as problem:
        return {"status": UNAVAILABLE, "reason": str(problem)}
    except EngineError as problem:
        unreachable = str(problem).startswith("cannot reach PostgreSQL")
        status = FAILED if isinstance(problem, Disagreement) else UNAVAILABLE if unreachable else REFUSED
        return {"status": status, "reason": str(problem)}
    except TamisError as problem:
        return {"status": FAILED, "reason": str(problem)}
    except Exception as problem:  # one run's trouble is not the others'
        return {"status": FAILED, "reason": f"{type(problem).__name__}: {problem}"}
