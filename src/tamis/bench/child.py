"""The process of one run: told the run on standard input, it writes what it measured to a file and ends.

python -m tamis.bench.child < {"run": {…}, "dsn": "…", "workloads": "folder", "answer": "file"}
"""

import json
import sys
from pathlib import Path
from typing import Any

from tamis.bench.kinds import KINDS, Place
from tamis.bench.results import FAILED, OK, REFUSED, UNAVAILABLE, Run
from tamis.errors import DataError, Disagreement, EngineError, MissingExtra, TamisError


def answer(told: dict[str, Any]) -> dict[str, Any]:
    """Status, rows and reason of a run."""
    run = Run(**told["run"])
    place = Place(Path(told["workloads"]) if told["workloads"] else None, told["dsn"])
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


def main() -> None:
    """Read, measure, write."""
    told = json.load(sys.stdin)
    Path(told["answer"]).write_text(json.dumps(answer(told)))


if __name__ == "__main__":
    main()
