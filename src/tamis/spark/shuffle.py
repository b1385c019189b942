"""The `shuffle` strategy, for subscription sets beyond a node: conjunctions and events meet by access key (`access.py`).

Every group is matched by the index's own engine, built over the group's conjunctions; verification is the engine's.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tamis.encoding.columns import Mask, factorise, one_chunk
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.saved import load_dictionary
from tamis.encoding.subscriptions import FIRST_SET, SubscriptionTable
from tamis.engines.registry import build_engine
from tamis.errors import EventError
from tamis.model.limits import Limits
from tamis.predicates.text import TextIndex
from tamis.spark.access import Access, conjunction_hashes, event_hashes, groups_of_conjunctions, groups_of_events, mixed
from tamis.spark.broadcast import Batches
from tamis.spark.frames import EventColumns
from tamis.spark.layout import DICTIONARY, Manifest
from tamis.spark.storage import as_micros, load_table, read_ids

SALTS = 4
SLICE = 50_000
FAULTY = -1
CONJUNCTION = "array<int>, ops array<int>, lo array<bigint>, hi array<bigint>, sets array<bigint>"


def matches(
    events: DataFrame,
    index: str,
    version: str,
    columns: EventColumns,
    schema: str,
    limits: Limits,
    strict: bool,
    now: int,
) -> DataFrame:
    """(event id, subscription id, error) rows, by a shuffle of both sides."""
    spark, directory = events.sparkSession, Path(index) / version
    manifest = Manifest.read(directory)
    buckets = max(int(str(spark.conf.get("spark.sql.shuffle.partitions"))), manifest.conjunctions // SLICE) * 4
    kind = events.schema[columns.id].dataType.simpleString()
    asked = sprayed(events, directory, columns, kind, limits, strict, now, buckets)
    filed = conjunctions(spark, directory, manifest, buckets)
    met = asked.groupBy("grp").cogroup(filed.groupBy("grp")).applyInArrow(meeting(directory, manifest), schema)
    return met.dropDuplicates(["event_id", "subscription_id", "error"]) if manifest.several else met


def sprayed(
    events: DataFrame,
    directory: Path,
    columns: EventColumns,
    kind: str,
    limits: Limits,
    strict: bool,
    now: int,
    buckets: int,
) -> DataFrame:
    """One row per event and group it must visit: the encoded event itself."""

    def run(batches: Batches) -> Batches:
        dictionary, text, access = tools(str(directory))
        for batch in batches:
            encoded = columns.encode(batch, dictionary, limits)
            ids = batch.column(columns.id)
            if encoded.faults:
                yield faults(ids, encoded.faults, strict)
            times = columns.times(batch, encoded.rows, now)
            good = ids.take(pa.array(encoded.rows))
            extended = text.extend(encoded.batch)
            salt = mixed(encoded.rows, times) ^ np.int64(len(batch))
            rows, groups = groups_of_events(*event_hashes(extended, access), salt, access, buckets, SALTS)
            attrs = pa.LargeListArray.from_arrays(extended.offsets, extended.attrs).cast(pa.list_(pa.int32()))
            keys = pa.LargeListArray.from_arrays(extended.offsets, extended.keys).cast(pa.list_(pa.int64()))
            at = pa.array(rows)
            parts = [pa.array(groups), good.take(at), pa.array(times).take(at), attrs.take(at), keys.take(at)]
            yield pa.record_batch([*parts, pa.nulls(len(at), pa.string())], EVENT_NAMES)

    schema = f"grp bigint, event_id {kind}, time bigint, attrs array<int>, keys array<bigint>, error string"
    return events.mapInArrow(run, schema)


EVENT_NAMES = ["grp", "event_id", "time", "attrs", "keys", "error"]


def faults(ids: pa.Array, found: dict[int, str], strict: bool) -> pa.RecordBatch:
    """Malformed events travel in a group of their own, or fail the job."""
    rows = sorted(found)
    if strict:
        raise EventError(f"event {ids[rows[0]].as_py()!r}: {found[rows[0]]}")
    nothing = [pa.nulls(len(rows), kind) for kind in (pa.int64(), pa.list_(pa.int32()), pa.list_(pa.int64()))]
    errors = pa.array([found[row] for row in rows], pa.string())
    group = pa.array(np.full(len(rows), FAULTY))
    return pa.record_batch([group, ids.take(pa.array(rows)), *nothing, errors], EVENT_NAMES)


def conjunctions(spark: SparkSession, directory: Path, manifest: Manifest, buckets: int) -> DataFrame:
    """One row per conjunction and group it is filed in."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for shard in batch.column("shard").to_pylist():
                yield from filed(directory, manifest, shard, buckets)

    plan = spark.createDataFrame([(shard,) for shard in manifest.shards], "shard string")
    schema = (
        f"grp bigint, subscription_id {manifest.id_type}, valid_from bigint, valid_until bigint, attrs {CONJUNCTION}"
    )
    return plan.repartition(len(manifest.shards), "shard").mapInArrow(run, schema)


def filed(directory: Path, manifest: Manifest, shard: str, buckets: int) -> Iterator[pa.RecordBatch]:
    """The conjunctions of a shard with their groups, a slice at a time."""
    dictionary, _, access = tools(str(directory))
    table, ids = load_table(directory / shard, dictionary), read_ids(directory / shard)
    bounds = [as_micros(ids, name) for name in ("valid_from", "valid_until")] if manifest.validity else None
    hashes = conjunction_hashes(table)
    for start in range(0, len(table), SLICE):
        piece = table.take(np.arange(start, min(start + SLICE, len(table))))
        rows, groups = groups_of_conjunctions(hashes[start : start + SLICE], access, buckets, SALTS)
        at, owners = pa.array(rows), piece.owners[rows]
        valid = [pa.array(b[owners]) for b in bounds] if bounds else [pa.nulls(len(at), pa.int64())] * 2
        lists = [column.take(at) for column in listed(piece)]
        names = ["grp", "subscription_id", "valid_from", "valid_until", "attrs", "ops", "lo", "hi", "sets"]
        yield pa.record_batch([pa.array(groups), ids.column("id").take(pa.array(owners)), *valid, *lists], names)


def listed(table: SubscriptionTable) -> list[pa.Array]:
    """A table as list columns, one row per conjunction; set bounds count from the conjunction's own members."""
    is_set = table.ops >= FIRST_SET
    sizes = np.where(is_set, table.hi - table.lo, 0)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    at = np.repeat(table.lo - ends[:-1], sizes) + np.arange(ends[-1])
    members, member_offsets = table.sets[at], ends[table.offsets]
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    lo = np.where(is_set, ends[:-1] - member_offsets[owner], table.lo)
    hi = np.where(is_set, lo + sizes, table.hi)
    columns = [(table.offsets, table.attrs), (table.offsets, table.ops.astype(np.int32)), (table.offsets, lo)]
    columns += [(table.offsets, hi), (member_offsets, members)]
    return [pa.LargeListArray.from_arrays(o, v).cast(pa.list_(pa.array(v).type)) for o, v in columns]


def unlisted(rows: pa.Table, owners: Int64Array, dictionary: Dictionary) -> SubscriptionTable:
    """The table behind `listed`."""
    offsets, attrs = flat_list(rows.column("attrs"))
    ops, lo, hi = (flat_list(rows.column(name))[1] for name in ("ops", "lo", "hi"))
    member_offsets, sets = flat_list(rows.column("sets"))
    base = np.repeat(member_offsets[:-1], np.diff(offsets))
    shift = np.where(ops >= FIRST_SET, base, 0)
    columns = (attrs.astype(np.int32), ops.astype(np.uint8), lo + shift, hi + shift, sets)
    return SubscriptionTable(owners.astype(np.int32), offsets, *columns, dictionary)


def flat_list(column: pa.ChunkedArray) -> tuple[Int64Array, Int64Array]:
    """(offsets, values) of a list column without nulls, from zero."""
    whole = one_chunk(column)
    offsets = np.asarray(whole.offsets).astype(np.int64)
    return offsets - offsets[0], np.asarray(whole.flatten())


def meeting(directory: Path, manifest: Manifest) -> Callable[[tuple[pa.Scalar, ...], pa.Table, pa.Table], pa.Table]:
    """The function that matches one group."""

    def meet(key: tuple[pa.Scalar, ...], events: pa.Table, filed_here: pa.Table) -> pa.Table:
        if key[0].as_py() == FAULTY:
            nothing = pa.nulls(len(events), pa.string() if manifest.id_type == "string" else pa.int64())
            return pa.table([events.column("event_id"), nothing, events.column("error")], OUT)
        if not len(events) or not len(filed_here):
            kinds = [events.schema.field("event_id").type, filed_here.schema.field("subscription_id").type, pa.string()]
            return pa.table([pa.array([], kind) for kind in kinds], OUT)
        ids, owners = factorise(one_chunk(filed_here.column("subscription_id")))
        table = unlisted(filed_here, owners, tools(str(directory))[0])
        engine = build_engine(manifest.engine, table, manifest.options)
        rows, dense = engine.match(batch_of(events)).pairs()
        if manifest.validity:
            kept = valid(filed_here, owners, len(ids), np.asarray(one_chunk(events.column("time")))[rows], dense)
            rows, dense = rows[kept], dense[kept]
        found = one_chunk(events.column("event_id")).take(pa.array(rows))
        names = pa.array(ids, filed_here.schema.field("subscription_id").type).take(pa.array(dense))
        return pa.table([found, names, pa.nulls(len(found), pa.string())], OUT)

    return meet


OUT = ["event_id", "subscription_id", "error"]


def batch_of(events: pa.Table) -> EventBatch:
    """The events of a group."""
    offsets, attrs = flat_list(events.column("attrs"))
    keys = flat_list(events.column("keys"))[1]
    owner = np.repeat(np.arange(len(events)), np.diff(offsets))
    multi = bool(np.any((attrs[1:] == attrs[:-1]) & (owner[1:] == owner[:-1])))
    return EventBatch(offsets, attrs.astype(np.int32), keys, np.full(len(keys), -1, np.int32), (), multi)


def valid(filed_here: pa.Table, owners: Int64Array, count: int, times: Int64Array, dense: Int32Array) -> Mask:
    """Which matches lie in the validity of their subscription."""
    bounds = np.zeros((2, count), np.int64)
    for bound, name in zip(bounds, ("valid_from", "valid_until"), strict=True):
        bound[owners] = np.asarray(one_chunk(filed_here.column(name)))
    inside: Mask = (bounds[0][dense] <= times) & (times < bounds[1][dense])
    return inside


@lru_cache(maxsize=2)
def tools(directory: str) -> tuple[Dictionary, TextIndex, Access]:
    """The dictionary, the text index and the access summary of a version, once per process."""
    dictionary = load_dictionary(Path(directory) / DICTIONARY)
    return dictionary, TextIndex(dictionary), Access.load(Path(directory))
