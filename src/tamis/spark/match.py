"""Matching in bulk: DataFrames in, a DataFrame (event_id, subscription_id) out, by the strategy that suits the sizes."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tamis.encoding.saved import load_dictionary
from tamis.errors import DataError, nearest
from tamis.model.limits import Limits
from tamis.spark import broadcast, shuffle, sql
from tamis.spark.compile import compile_index
from tamis.spark.frames import EventColumns
from tamis.spark.layout import DICTIONARY, Manifest, current_version
from tamis.spark.request import Request

STRATEGIES: dict[str, Callable[[DataFrame, Request], DataFrame]] = {
    "broadcast": broadcast.matches,
    "shuffle": shuffle.matches,
    "sql": sql.sequential,
    "sql-grouping": sql.grouping,
}
MEMORY = 8 << 30
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Plan:
    """How a match will be run, and why."""

    strategy: str
    reason: str
    manifest: Manifest
    columns: list[str]

    def __str__(self) -> str:
        m = self.manifest
        return (
            f"strategy {self.strategy}: {self.reason}\n"
            f"  index {m.version}: {m.subscriptions:,} subscriptions, {m.conjunctions:,} conjunctions, "
            f"{m.bytes / 2**20:,.1f} MiB in {len(m.shards)} shard(s), engine {m.engine}\n"
            f"  event columns read: {', '.join(self.columns)}"
        )


class MatchOptions(TypedDict, total=False):
    """How to match.

    strategy  `auto` (by size), `broadcast`, `shuffle`, `sql` or `sql-grouping`
    columns   how events lie in their columns
    on_error  what a malformed event does: `raise` fails the job, `drop` leaves it out, `keep` tells it with its error
    now       the moment held against the validity of subscriptions where events have no time column
    limits    what an event may hold
    memory    bytes a node may spend on a mapped index
    version   one of the index's versions; the current one otherwise
    compile   options of `compile_index`, when subscriptions are given as a DataFrame
    """

    strategy: str
    columns: EventColumns
    on_error: str
    now: datetime | None
    limits: Limits
    memory: int
    version: str | None
    compile: dict[str, Any]


def match(events: DataFrame, subscriptions: DataFrame | str | Path, **options: Unpack[MatchOptions]) -> DataFrame:
    """Every (event_id, subscription_id) pair where the event satisfies the subscription.

    `subscriptions` is a DataFrame or the directory of a compiled index; `MatchOptions` lists the options. With
    on_error="keep" there is a column `error` and one row per malformed event.
    """
    chosen, request, read = prepare(events, subscriptions, options)
    return answer(chosen, request, read, options.get("on_error", "raise"))


def answer(chosen: Plan, request: Request, events: DataFrame, on_error: str) -> DataFrame:
    """What the strategy finds, with malformed events as asked."""
    found = STRATEGIES[chosen.strategy](events, request)
    if on_error == "keep":
        return found
    return found.where(f.col("error").isNull()).drop("error") if on_error == "drop" else found.drop("error")


def prepare(
    events: DataFrame, subscriptions: DataFrame | str | Path, options: MatchOptions
) -> tuple[Plan, Request, DataFrame]:
    """The plan of a match, what its strategy is asked, and the event columns it reads."""
    for name in options:
        if name not in MatchOptions.__annotations__:
            known = MatchOptions.__annotations__
            raise DataError(f"a match has no option {name!r}{nearest(name, known)} (options: {', '.join(known)})")
    on_error, limits = options.get("on_error", "raise"), options.get("limits", Limits())
    if on_error not in ("raise", "drop", "keep"):
        raise DataError(f"on_error is raise, drop or keep, not {on_error!r}")
    columns, now = options.get("columns", EventColumns()), options.get("now") or datetime.now(UTC)
    index = prepared(subscriptions, limits, options.get("compile", {}))
    chosen = plan(
        events,
        index,
        strategy=options.get("strategy", "auto"),
        columns=columns,
        memory=options.get("memory", MEMORY),
        version=options.get("version"),
    )
    request = Request(
        directory=Path(index).absolute() / chosen.manifest.version,
        manifest=chosen.manifest,
        columns=columns,
        event_id_type=events.schema[columns.id].dataType.simpleString(),
        limits=limits,
        strict=on_error == "raise",
        now=(now - EPOCH) // datetime.resolution,
    )
    return chosen, request, events.select([events[f"`{name}`"] for name in chosen.columns])


def plan(
    events: DataFrame,
    index: str | Path,
    *,
    strategy: str = "auto",
    columns: EventColumns = EventColumns(),
    memory: int = MEMORY,
    version: str | None = None,
) -> Plan:
    """What `match` would do."""
    columns.check(events)
    manifest = Manifest.read(Path(index) / (version or current_version(index)))
    if strategy not in ("auto", *STRATEGIES):
        raise DataError(f"strategy is auto, {', '.join(STRATEGIES)}, not {strategy!r}")
    read = columns.prune(events, attribute_names(index, manifest)).columns
    if manifest.tasks and strategy not in ("auto", "broadcast"):
        raise DataError(f"{manifest.tasks:,} conjunctions use operators, which only the strategy broadcast runs")
    if manifest.tasks:
        return Plan("broadcast", "some subscriptions use operators, which need whole events", manifest, events.columns)
    if strategy != "auto":
        return Plan(strategy, "as asked", manifest, read)
    size, room = f"{manifest.bytes / 2**30:,.2f} GiB", f"{memory / 2**30:,.1f} GiB"
    if manifest.bytes <= memory:
        return Plan("broadcast", f"the index ({size}) fits in the {room} a node may spend on it", manifest, read)
    return Plan("shuffle", f"the index ({size}) exceeds the {room} a node may spend on it", manifest, read)


def prepared(subscriptions: DataFrame | str | Path, limits: Limits, options: dict[str, Any]) -> str:
    """The directory of an index: the one given, or a new one compiled in a temporary place."""
    if not isinstance(subscriptions, DataFrame):
        return str(Path(subscriptions).absolute())
    place = tempfile.mkdtemp(prefix="tamis-index-")
    return compile_index(subscriptions, place, limits=limits, **options).index


def attribute_names(index: str | Path, manifest: Manifest) -> list[str]:
    """The attributes some subscription names."""
    return list(load_dictionary(Path(index) / manifest.version / DICTIONARY).ids)
