"""Raw results on disk: one JSON file per run, with what is needed to judge it later.

    results/quick/topss-subscriptions/scaling-bit-matrix-1f0c….json

A file holds `rows`: each belongs to a series and has `samples` (repeated measurements) and `values` (measured once). Files of
another format or made by another version of tamis are named and skipped, never mixed in.
"""

import hashlib
import json
import os
import platform
import re
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tamis import __version__
from tamis.errors import DataError

FORMAT = 1
OK, REFUSED, UNAVAILABLE, FAILED = "ok", "refused", "unavailable", "failed"


@dataclass(frozen=True, slots=True)
class Run:
    """One engine (or one experiment of another kind) on one workload."""

    suite: str
    profile: str
    group: str
    kind: str
    label: str
    engine: str
    options: dict[str, Any]
    workload: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    repeat: int = 0

    @property
    def key(self) -> str:
        """Names everything that decides the outcome."""
        told = json.dumps([FORMAT, __version__, asdict(self)], sort_keys=True)
        return hashlib.blake2b(told.encode(), digest_size=6).hexdigest()

    @property
    def file(self) -> Path:
        """Where the result is kept, below the folder of results."""
        label = re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")
        return Path(self.profile) / self.suite / f"{self.group}-{label}-{self.key}.json"

    def __str__(self) -> str:
        sizes = [f"{k}={v:,}" if isinstance(v, int) else f"{k}={v}" for k, v in self.workload.items() if k != "kind"]
        return f"{self.suite}/{self.group}: {self.label} ({', '.join(sizes)})"


@dataclass(frozen=True, slots=True)
class Result:
    """A run and what came of it; `reason` says why there are no rows."""

    run: Run
    status: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""
    seconds: float = 0.0
    machine: dict[str, Any] = field(default_factory=dict)
    started: str = ""
    tamis: str = __version__
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Point:
    """A row, flattened: parameters of engine, workload and row, per metric its samples, and (matches, µs) by event."""

    run: Run
    series: str
    parameters: dict[str, Any]
    samples: dict[str, list[float]]
    by_output: list[tuple[int, float]]

    def metric(self, name: str) -> float | None:
        """The median of what was measured, or a quantity that follows from others; None when there is nothing."""
        if name in self.samples:
            return statistics.median(self.samples[name])
        if name not in DERIVED:
            return None
        compute, needed = DERIVED[name]
        values = [statistics.median(self.samples[other]) for other in needed if other in self.samples]
        return compute(*values) if len(values) == len(needed) and all(values) else None

    def spread(self, name: str) -> tuple[float, float] | None:
        """Lowest and highest sample; also of a quantity that follows from one measured one."""
        found = self.samples.get(name)
        if found is None and name in DERIVED and len(DERIVED[name][1]) == 1 and self.metric(name) is not None:
            compute, (needed,) = DERIVED[name]
            found = [compute(sample) for sample in self.samples[needed]]
        return (min(found), max(found)) if found else None


MIB = 2**20
DERIVED: dict[str, tuple[Callable[..., float], tuple[str, ...]]] = {
    "us_per_match": (lambda batch, matches: batch / matches, ("batch_us", "matches_per_event")),
    "events_per_s": (lambda batch: 1e6 / batch, ("batch_us",)),
    "single_ms": (lambda single: single / 1e3, ("single_us",)),
    "batch_ms": (lambda batch: batch / 1e3, ("batch_us",)),
    "build_ms": (lambda build: build * 1e3, ("build_s",)),
    "bytes_per_subscription": (lambda held, count: held / count, ("bytes_held", "subscriptions")),
    "mib": (lambda held: held / MIB, ("bytes_held",)),
    "stage_mib": (lambda held: held / MIB, ("stage_bytes",)),
    "rss_mib": (lambda growth: max(0.0, growth) / MIB, ("rss_growth_bytes",)),
}
"""Metrics that follow from measured ones."""


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


def write(folder: Path, result: Result) -> Path:
    """Keep a result, whole or not at all."""
    file = folder / result.run.file
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(asdict(result), indent=1))
    part.replace(file)
    return file


def read(file: Path) -> Result:
    """A result, or a DataError that names the file and what is wrong with it."""
    try:
        data = json.loads(file.read_text())
        if data["format"] != FORMAT:
            raise DataError(f"{file}: result of format {data['format']}, this version reads {FORMAT}")
        run = Run(**data.pop("run"))
        return Result(run, **data)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataError(f"{file}: not a result of tamis bench ({type(problem).__name__}: {problem})") from problem


def finished(folder: Path, run: Run) -> Result | None:
    """The result of this very run, if it is there and need not be tried again."""
    file = folder / run.file
    try:
        result = read(file) if file.exists() else None
    except DataError:
        return None
    return result if result is not None and result.status in (OK, REFUSED) else None


def read_all(folder: Path, any_version: bool = False) -> tuple[list[Result], list[str]]:
    """Every result below a folder, and a sentence for each file that was skipped."""
    if not folder.is_dir():
        raise DataError(f"there are no results in {folder}; make some with: tamis bench run reference")
    results, skipped = [], []
    for file in sorted(folder.rglob("*.json")):
        try:
            result = read(file)
        except DataError as problem:
            skipped.append(str(problem))
            continue
        if result.tamis != __version__ and not any_version:
            skipped.append(f"{file}: made by tamis {result.tamis}, this is {__version__}")
        else:
            results.append(result)
    return results, skipped


def points(results: list[Result]) -> list[Point]:
    """All rows of all results that have any; repeated runs are pooled."""
    pooled: dict[str, Point] = {}
    for result in results:
        run = replace(result.run, repeat=0)
        for row in result.rows:
            series, at = row.get("series", run.label), row.get("at", {})
            point = pooled.setdefault(
                json.dumps([run.key, series, at]), Point(run, series, run.options | run.workload | at, {}, [])
            )
            values = {name: [value] for name, value in row.get("values", {}).items()}
            for name, samples in (values | row.get("samples", {})).items():
                point.samples.setdefault(name, []).extend(samples)
            point.by_output.extend(row.get("by_output", []))
    return list(pooled.values())
