"""Subscriptions → a new version of an index directory, built by executors.

Three steps: tasks read their shares into parts, each over a dictionary of its own; the driver merges the dictionaries (never
the subscriptions); tasks renumber the parts and write the shards. Nothing is visible to readers until the last step
names the new version in `CURRENT`.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.saved import load_dictionary, save_dictionary
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import make_options
from tamis.engines.registry import DEFAULT, engine_class
from tamis.errors import DataError, nearest
from tamis.model.limits import Limits
from tamis.model.schema import PublicationType
from tamis.spark.access import Access, access_of
from tamis.spark.layout import DICTIONARY, PROFILE, QUARANTINE, TASKS, Manifest, next_version, publish
from tamis.spark.merge import load_maps, merge_into, renumber, save_maps
from tamis.spark.parts import Reading, read_part_table
from tamis.spark.profile import Profile
from tamis.spark.storage import VALIDITY, read_ids, save_engine, save_ids, save_table

SHARD = 4_000_000
PART_COLUMNS = (
    "part string, subscriptions long, conjunctions long, predicates long, quarantined long, several boolean, tasks long"
)
TEXT = {"id", "filter"}
ROWS = {"id", "attribute", "operator"}


@dataclass(frozen=True)
class Compiled:
    """A finished version of an index."""

    index: str
    manifest: Manifest

    def quarantine(self, spark: SparkSession) -> DataFrame:
        """The subscriptions that could not be compiled: id, filter, error."""
        schema = f"id {self.manifest.id_type}, filter string, error string"
        place = Path(self.index) / self.manifest.version / QUARANTINE
        return spark.read.schema(schema).parquet(str(place)) if place.exists() else spark.createDataFrame([], schema)


def compile_index(
    subscriptions: DataFrame,
    index: str | Path,
    *,
    engine: str = DEFAULT,
    options: dict[str, Any] | None = None,
    type: PublicationType | None = None,
    limits: Limits = Limits(),
    partitions: int | None = None,
    shard_size: int = SHARD,
    operators: Sequence[str] = (),
    profile: Profile | None = None,
) -> Compiled:
    """Compile (id, filter) rows, or one row per predicate (`encoding/bulk_subscriptions.py`, with `id` for the
    subscription), into the next version of `index`. `valid_from` and `valid_until` columns are kept and honoured.
    `operators` names modules that declare operators; workers import them. `profile` tells what events look like: access
    keys are chosen so that few of them meet."""
    options = informed(engine, options or {}, profile)
    id_type, rows = check_columns(subscriptions)
    spark, index = subscriptions.sparkSession, Path(index).absolute()
    version = next_version(index)
    directory = index / version
    staging = directory / "staging"
    staging.mkdir(parents=True)
    reading = Reading(str(staging), type, limits, tuple(operators))
    shares = partitions or int(str(spark.conf.get("spark.sql.shuffle.partitions")))
    read = reading.predicates if rows else reading.texts
    parts = subscriptions.repartition(shares, "id").mapInArrow(read, PART_COLUMNS).collect()
    merge_parts(staging, directory, [row.part for row in parts], type)
    groups = sharded([(row.part, row.subscriptions) for row in parts], shard_size)
    if profile is not None:
        profile.save(directory / PROFILE)
    built = build_shards(spark, staging, directory, groups, engine, options)
    Access.merged([Access.load(directory / row.shard) for row in built]).save(directory)
    if any(row.quarantined for row in parts):
        keep_quarantine(staging, directory, [row.part for row in parts if row.quarantined])
    manifest = Manifest(
        version=version,
        engine=engine,
        options=options,
        id_type=id_type,
        subscriptions=sum(row.subscriptions for row in parts),
        conjunctions=sum(row.conjunctions for row in parts),
        predicates=sum(row.predicates for row in parts),
        quarantined=sum(row.quarantined for row in parts),
        bytes=sum(row.bytes for row in built),
        several=any(row.several for row in parts),
        tasks=sum(row.tasks for row in parts),
        operators=list(operators),
        validity=any(name in subscriptions.columns for name in VALIDITY),
        shards=sorted(row.shard for row in built),
    )
    shutil.rmtree(staging)
    manifest.write(directory)
    publish(index, version)
    return Compiled(str(index), manifest)


def informed(engine: str, options: dict[str, Any], profile: Profile | None) -> dict[str, Any]:
    """The options of an engine, checked; one that is built from a profile gets the statistics."""
    kind = engine_class(engine).options_type
    wanted = kind.__dataclass_fields__.get("profile")
    if profile is not None and wanted is not None and wanted.default is None:
        options = {"profile": profile.statistics(), **options}
    make_options(kind, engine, options)
    return options


def check_columns(subscriptions: DataFrame) -> tuple[str, bool]:
    """The kind of ids (`string` or `long`), and whether there is one row per predicate; or a DataError."""
    names = set(subscriptions.columns)
    missing = [name for name in ("id",) if name not in names]
    if missing or not (names >= TEXT or names >= ROWS):
        wanted = "(id, filter) or (id, attribute, operator, …)"
        known = ", ".join(subscriptions.columns)
        hint = nearest("filter", names) if "filter" not in names else nearest("id", names)
        raise DataError(f"subscriptions need the columns {wanted}; there are: {known}{hint}")
    kind = subscriptions.schema["id"].dataType
    if not isinstance(kind, (t.StringType, t.IntegerType, t.LongType, t.ShortType)):
        raise DataError(f"a subscription id is a string or an integer; the column id has type {kind.simpleString()}")
    for name in VALIDITY:
        if name in names and not isinstance(subscriptions.schema[name].dataType, (t.TimestampType, t.DateType)):
            raise DataError(f"the column {name} must be a timestamp")
    return ("string" if isinstance(kind, t.StringType) else "long"), not names >= TEXT


def merge_parts(staging: Path, directory: Path, parts: list[str], type: PublicationType | None) -> None:
    """The common dictionary, and beside each part how its numbers read there."""
    common = Dictionary(type=type)
    for part in parts:
        save_maps(staging / part, *merge_into(common, load_dictionary(staging / part / DICTIONARY)))
    save_dictionary(common, directory / DICTIONARY)


def sharded(parts: list[tuple[str, int]], size: int) -> list[list[str]]:
    """Parts in groups of about `size` subscriptions; at least one group."""
    groups: list[list[str]] = [[]]
    held = 0
    for part, count in parts:
        if held and held + count > size:
            groups.append([])
            held = 0
        groups[-1].append(part)
        held += count
    return groups


def build_shards(
    spark: SparkSession, staging: Path, directory: Path, groups: list[list[str]], engine: str, options: dict[str, Any]
) -> list[Any]:
    """Let executors write the shards; returns one row about each."""
    plan = [(f"shard-{i:05d}", json.dumps(parts)) for i, parts in enumerate(groups)]

    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                held = build_shard(staging, directory, row["shard"], json.loads(row["parts"]), engine, options)
                yield pa.record_batch({"shard": [row["shard"]], "bytes": [held]})

    frame = spark.createDataFrame(plan, "shard string, parts string").repartition(len(plan), "shard")
    return frame.mapInArrow(build, "shard string, bytes long").collect()


def build_shard(
    staging: Path, directory: Path, name: str, parts: list[str], engine: str, options: dict[str, Any]
) -> int:
    """Renumber and join parts into one shard; returns its size in bytes."""
    common = load_dictionary(directory / DICTIONARY)
    profile = Profile.load(directory / PROFILE) if (directory / PROFILE).exists() else None
    tables, ids = [SubscriptionTable.empty(common)], [read_ids(staging / part) for part in parts]
    tasks: list[pa.Table] = []
    count, subscriptions = sum(len(part) for part in ids), 0
    for part, mine in zip(parts, ids, strict=True):
        table = renumber(read_part_table(staging / part, common), *load_maps(staging / part), common)
        tables.append(with_owners(table, len(mine), subscriptions, count + sum(len(listed) for listed in tasks)))
        if (staging / part / TASKS).exists():
            listed = pq.read_table(staging / part / TASKS)
            tasks.append(
                listed.set_column(0, "owner", pc.add(listed.column("owner"), pa.scalar(subscriptions, pa.int32())))
            )
        subscriptions += len(mine)
    fresh = directory / f".{name}-{np.random.default_rng().integers(1 << 62):x}"
    fresh.mkdir()
    whole = SubscriptionTable.concat(tables)
    save_table(whole, fresh)
    save_engine(whole, engine, options, fresh, profile)
    access_of(whole, profile).save(fresh)
    if tasks:
        pq.write_table(pa.concat_tables(tasks), fresh / TASKS)
    save_ids(pa.Table.from_batches(ids) if ids else pa.table({"id": pa.array([], pa.string())}), fresh)
    place_once(fresh, directory / name)
    return whole.nbytes


def with_owners(table: SubscriptionTable, count: int, first: int, first_task: int) -> SubscriptionTable:
    """The table with its `count` subscriptions numbered from `first` and its tasks, which follow them, from `first_task`."""
    owners = np.where(table.owners < count, table.owners + first, table.owners - count + first_task).astype(np.int32)
    return replace(table, owners=owners)


def place_once(fresh: Path, final: Path) -> None:
    """Move a finished directory into place; when another attempt of the task was first, its result stands."""
    try:
        fresh.rename(final)
    except OSError:
        if not final.exists():
            raise
        shutil.rmtree(fresh)


def keep_quarantine(staging: Path, directory: Path, parts: list[str]) -> None:
    """Gather the parts' quarantine files; they are copied, not read."""
    (directory / QUARANTINE).mkdir()
    for part in parts:
        shutil.move(staging / part / f"{QUARANTINE}.parquet", directory / QUARANTINE / f"{part}.parquet")
