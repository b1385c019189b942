"""Matching in bulk: DataFrames in, a DataFrame (event_id, subscription_id) out, by the strategy that suits the sizes."""

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tamis.encoding.saved import load_dictionary
from tamis.errors import DataError
from tamis.model.limits import Limits
from tamis.spark import broadcast, shuffle, sql
from tamis.spark.compile import compile_index
from tamis.spark.frames import EventColumns
from tamis.spark.layout import DICTIONARY, Manifest, current_version

STRATEGIES = {
    "broadcast": broadcast.matches,
    "shuffle": shuffle.matches,
    "sql": sql.sequential,
    "sql-grouping": sql.grouping,
}
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


def match(
    events: DataFrame,
    subscriptions: DataFrame | str | Path,
    *,
    strategy: str = "auto",
    columns: EventColumns = EventColumns(),
    on_error: str = "raise",
    now: datetime | None = None,
    limits: Limits = Limits(),
    memory: int = 8 << 30,
    version: str | None = None,
    **compile_options: Any,
) -> DataFrame:
    """Every (event_id, subscription_id) pair where the event satisfies the subscription.

    `subscriptions` is a DataFrame or the directory of a compiled index. `on_error` says what a malformed event does: `raise`
    fails the job, `drop` leaves it out, `keep` adds a column `error` and one row per malformed event. Subscriptions with
    a validity are held against the event's time column, or `now`. `memory` is what a node may spend on a mapped index,
    `version` one of the index's versions (the current one).
    """
    index = prepared(events, subscriptions, limits, compile_options)
    chosen = plan(events, index, strategy=strategy, columns=columns, memory=memory, version=version)
    if on_error not in ("raise", "drop", "keep"):
        raise DataError(f"on_error is raise, drop or keep, not {on_error!r}")
    moment = now or datetime.now(UTC)
    at = (moment - EPOCH) // (datetime.resolution)
    kind = events.schema[columns.id].dataType.simpleString()
    schema = f"event_id {kind}, subscription_id {chosen.manifest.id_type}, error string"
    whole = chosen.manifest.tasks > 0  # an operator may look at any attribute
    pruned = events if whole else columns.prune(events, attribute_names(index, chosen.manifest))
    run = STRATEGIES[chosen.strategy]
    found = run(pruned, index, chosen.manifest.version, columns, schema, limits, on_error == "raise", at)
    if on_error == "keep":
        return found
    return found.where(f.col("error").isNull()).drop("error") if on_error == "drop" else found.drop("error")


def plan(
    events: DataFrame,
    index: str | Path,
    *,
    strategy: str = "auto",
    columns: EventColumns = EventColumns(),
    memory: int = 8 << 30,
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


def prepared(events: DataFrame, subscriptions: DataFrame | str | Path, limits: Limits, options: dict[str, Any]) -> str:
    """The directory of an index: the one given, or a new one compiled in a temporary place."""
    if not isinstance(subscriptions, DataFrame):
        return str(Path(subscriptions).absolute())
    place = tempfile.mkdtemp(prefix="tamis-index-")
    return compile_index(subscriptions, place, limits=limits, **options).index


def attribute_names(index: str | Path, manifest: Manifest) -> list[str]:
    """The attributes some subscription names."""
    return list(load_dictionary(Path(index) / manifest.version / DICTIONARY).ids)
