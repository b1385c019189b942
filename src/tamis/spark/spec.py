"""What a pipeline does, from a TOML file. Every fault is told with its table and key."""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tamis.errors import DataError, nearest
from tamis.spark.frames import EventColumns
from tamis.spark.generate import Workload

FORMATS = ("parquet", "json", "csv")
EXAMPLE = """\
# A pipeline: generate (or read) → profile → compile → match → report.
# Run it with: tamis pipeline run {name}

[pipeline]
output = "{stem}-run"      # where everything goes, beside this file
master = "local[*]"        # any Spark master
memory = "1g"              # of the driver
partitions = 8             # of shuffles

# Synthetic data. To use your own, delete [workload] and fill in [subscriptions] and [events].
[workload]
subscriptions = 20_000
events = 20_000
attributes = 100           # named a0, a1, …
values = 1000              # of each attribute
templates = 200            # events are noisy copies of this many
per_event = 12             # attributes of an event
predicates = 5             # of a subscription
shapes = 50                # conditions that differ in more than their constants
around = 0.2               # part of the subscriptions that fits some template
seed = 1

# [subscriptions]          # columns id and filter, or one row per predicate
# path = "subscriptions.parquet"
# format = "parquet"       # parquet, json, csv

# [events]
# path = "events.parquet"
# format = "parquet"
# id = "event_id"
# time = "at"              # for subscriptions with valid_from and valid_until
# json = ["body"]          # columns that hold JSON objects
# spread = ["attributes"]  # structs or maps whose fields are attributes
# ignore = ["comment"]

[match]
strategy = "auto"          # auto, broadcast, shuffle, sql, sql-grouping
"""


@dataclass(frozen=True)
class Source:
    """Where a table is read from."""

    path: Path
    format: str = "parquet"


@dataclass(frozen=True)
class Spec:
    """A pipeline."""

    output: Path
    master: str = "local[*]"
    memory: str = "1g"
    partitions: int = 8
    workload: Workload | None = None
    counts: tuple[int, int] = (0, 0)
    subscriptions: Source | None = None
    events: Source | None = None
    columns: EventColumns = field(default_factory=EventColumns)
    engine: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    operators: tuple[str, ...] = ()
    strategy: str = "auto"


def read_spec(path: Path) -> Spec:
    """The pipeline a file describes."""
    try:
        found = tomllib.loads(path.read_text())
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror or problem}") from problem
    except tomllib.TOMLDecodeError as problem:
        raise DataError(f"{path}: {problem}") from problem
    known = {"pipeline", "workload", "subscriptions", "events", "compile", "match"}
    check_keys(found, known, f"{path}")
    for name, table in found.items():
        if not isinstance(table, dict):
            raise DataError(f"{path}: {name} must be a table, written [{name}]")
    base = path.parent
    general = checked(
        found.get("pipeline", {}), {"output": str, "master": str, "memory": str, "partitions": int}, "pipeline"
    )
    compiling = checked(found.get("compile", {}), {"engine": str, "options": dict, "operators": list}, "compile")
    matching = checked(found.get("match", {}), {"strategy": str}, "match")
    if "workload" in found:
        workload, counts = read_workload(found["workload"])
        sources: tuple[Source | None, Source | None] = (None, None)
        columns = EventColumns(spread=("attributes",))
    else:
        workload, counts = None, (0, 0)
        missing = [name for name in ("subscriptions", "events") if name not in found]
        if missing:
            raise DataError(
                f"{path}: give a table [workload], or [subscriptions] and [events]; [{missing[0]}] is missing"
            )
        events = dict(found["events"])
        columns = read_columns({k: events.pop(k) for k in list(events) if k not in ("path", "format")})
        sources = (read_source(found["subscriptions"], base, "subscriptions"), read_source(events, base, "events"))
    return Spec(
        output=base / general.pop("output", f"{path.stem}-run"),
        **general,
        workload=workload,
        counts=counts,
        subscriptions=sources[0],
        events=sources[1],
        columns=columns,
        engine=compiling.get("engine"),
        options=compiling.get("options", {}),
        operators=tuple(compiling.get("operators", ())),
        **matching,
    )


def read_workload(table: dict[str, Any]) -> tuple[Workload, tuple[int, int]]:
    """The synthetic data of a pipeline."""
    numbers = {f.name: (float if f.type in (float, "float") else int) for f in fields(Workload)}
    given = checked(table, {**numbers, "subscriptions": int, "events": int}, "workload")
    counts = (given.pop("subscriptions", 20_000), given.pop("events", 20_000))
    if min(counts) < 0:
        raise DataError("workload: subscriptions and events are not negative")
    return Workload(**given), counts


def read_source(table: dict[str, Any], base: Path, name: str) -> Source:
    """A table's place; it must exist."""
    given = checked(table, {"path": str, "format": str}, name)
    if "path" not in given:
        raise DataError(f"{name}: path is missing")
    source = Source(base / given["path"], given.get("format", "parquet"))
    if source.format not in FORMATS:
        raise DataError(f"{name}: format is one of {', '.join(FORMATS)}, not {source.format!r}")
    if not source.path.exists():
        raise DataError(f"{name}: there is no {source.path}")
    return source


def read_columns(table: dict[str, Any]) -> EventColumns:
    """How events lie in their columns."""
    given = checked(table, {"id": str, "time": str, "json": list, "spread": list, "ignore": list}, "events")
    settings: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return EventColumns(**settings)


def checked(table: dict[str, Any], kinds: dict[str, type], name: str) -> dict[str, Any]:
    """A copy of the table, its keys known and its values of the right kind."""
    check_keys(table, set(kinds), f"[{name}]")
    for key, value in table.items():
        wanted = (int, float) if kinds[key] is float else kinds[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise DataError(f"[{name}]: {key} must be of type {kinds[key].__name__}, not {value!r}")
    return dict(table)


def check_keys(table: dict[str, Any], known: set[str], where: str) -> None:
    """Refuse a key nobody reads."""
    for key in table:
        if key not in known:
            raise DataError(f"{where}: there is no key {key!r}{nearest(key, known)} (keys: {', '.join(sorted(known))})")
