"""Raw results on disk: one JSON file per run, with what is needed to judge it later."""

import json
import os
import platform
import time
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """What the measurements were made on, and how busy it was."""
    return {
        "system": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def keep(folder: Path, suite: str, profile: str, rows: list[dict[str, Any]]) -> Path:
    """Write a run to a file of its own and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{suite}-{profile}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}.json"
    file.write_text(json.dumps({"suite": suite, "profile": profile, "machine": machine(), "rows": rows}, indent=1))
    return file
