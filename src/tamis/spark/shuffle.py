"""The `shuffle` strategy, for subscription sets beyond a node: conjunctions and events meet by access key (`access.py`).

Every group is matched by the index's own engine, built over the group's conjunctions; verification is the engine's.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tamis.encoding.columns import Mask, factorise, one_chunk
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import FIRST_SET, SubscriptionTable
from tamis.engines.registry import build_engine
from tamis.spark.access import conjunction_hashes, event_hashes, groups_of_conjunctions, groups_of_events, open_access
from tamis.spark.hashing import mixed
from tamis.spark.index import open_words
from tamis.spark.request import FOUND, Batches, Request, over_shards
from tamis.spark.storage import load_table, read_ids, validity

SALTS = 4
SLICE = 50_000
FAULTY = -1
EVENT = "grp bigint, event_id {kind}, time bigint, attrs array<int>, keys array<bigint>, error string"
EVENT_NAMES = ["grp", "event_id", "time", "attrs", "keys", "error"]
CONJUNCTION = """grp bigint, subscription_id {kind}, valid_from bigint, valid_until bigint,
  attrs array<int>, ops array<int>, lo array<bigint>, hi array<bigint>, sets array<bigint>"""
CONJUNCTION_NAMES = ["grp", "subscription_id", "valid_from", "valid_until", "attrs", "ops", "lo", "hi", "sets"]


def matches(events: DataFrame, request: Request) -> DataFrame:
    """(event id, subscription id, error) rows, by a shuffle of both sides."""
    spark, manifest = events.sparkSession, request.manifest
    buckets = max(int(str(spark.conf.get("spark.sql.shuffle.partitions"))), manifest.conjunctions // SLICE) * 4
    asked = events.mapInArrow(sprayer(request, buckets), EVENT.format(kind=request.event_id_type))
    filed = over_shards(
        spark, request.directory, manifest, filer(request, buckets), CONJUNCTION.format(kind=manifest.id_type)
    )
    met = asked.groupBy("grp").cogroup(filed.groupBy("grp")).applyInArrow(meeting(request), request.schema)
    return met.dropDuplicates(FOUND) if manifest.several else met


def sprayer(request: Request, buckets: int) -> Callable[[Batches], Batches]:
    """Events → one row per event and group it must visit: the encoded event itself."""

    def run(batches: Batches) -> Batches:
        (dictionary, text), (access, _) = open_words(request.directory), open_access(request.directory)
        for batch in batches:
            found, faulty = request.read(batch, dictionary)
            if faulty is not None:
                yield apart(faulty)
            extended = text.extend(found.batch)
            salt = mixed(found.rows, found.times) ^ np.int64(len(batch))
            rows, groups = groups_of_events(*event_hashes(extended, access), salt, access, buckets, SALTS)
            lists = [as_list(extended.offsets, values) for values in (extended.attrs, extended.keys)]
            at = pa.array(rows)
            parts = [column.take(at) for column in (found.ids, pa.array(found.times), *lists)]
            yield pa.record_batch([pa.array(groups), *parts, pa.nulls(len(at), pa.string())], EVENT_NAMES)

    return run


def apart(faulty: pa.RecordBatch) -> pa.RecordBatch:
    """Malformed events travel in a group of their own."""
    group = pa.array(np.full(len(faulty), FAULTY))
    nothing = [pa.nulls(len(faulty), kind) for kind in (pa.int64(), pa.list_(pa.int32()), pa.list_(pa.int64()))]
    return pa.record_batch([group, faulty.column("event_id"), *nothing, faulty.column("error")], EVENT_NAMES)


def filer(request: Request, buckets: int) -> Callable[[int, Path], Batches]:
    """The conjunctions of a shard, one row per group they are filed in, a slice at a time."""

    def run(_: int, shard: Path) -> Batches:
        access, profile = open_access(request.directory)
        table, ids = load_table(shard, open_words(request.directory)[0]), read_ids(shard)
        bounds, hashes = validity(ids), conjunction_hashes(table, profile)
        for start in range(0, len(table), SLICE):
            piece = table.take(np.arange(start, min(start + SLICE, len(table))))
            rows, groups = groups_of_conjunctions(hashes[start : start + SLICE], access, buckets, SALTS)
            at, owners = pa.array(rows), piece.owners[rows]
            about = [ids.column("id").take(pa.array(owners)), *map(pa.array, bounds[:, owners])]
            lists = [column.take(at) for column in listed(piece)]
            yield pa.record_batch([pa.array(groups), *about, *lists], CONJUNCTION_NAMES)

    return run


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
    return [as_list(offsets, values) for offsets, values in columns]


def as_list(offsets: Int64Array, values: Int32Array | Int64Array) -> pa.Array:
    """A list column with Spark's offsets."""
    return pa.LargeListArray.from_arrays(offsets, values).cast(pa.list_(pa.array(values[:0]).type))


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


def meeting(request: Request) -> Callable[[tuple[pa.Scalar, ...], pa.Table, pa.Table], pa.Table]:
    """The function that matches one group."""
    manifest = request.manifest

    def meet(key: tuple[pa.Scalar, ...], events: pa.Table, filed: pa.Table) -> pa.Table:
        kind = filed.schema.field("subscription_id").type
        if key[0].as_py() == FAULTY:
            return pa.table([events.column("event_id"), pa.nulls(len(events), kind), events.column("error")], FOUND)
        if not len(events) or not len(filed):
            kinds = [events.schema.field("event_id").type, kind, pa.string()]
            return pa.table([pa.array([], kind) for kind in kinds], FOUND)
        ids, owners = factorise(one_chunk(filed.column("subscription_id")))
        table = unlisted(filed, owners, open_words(request.directory)[0])
        engine = build_engine(manifest.engine, table, manifest.options)
        rows, dense = engine.match(batch_of(events)).pairs()
        if manifest.validity:
            kept = valid(filed, owners, len(ids), np.asarray(one_chunk(events.column("time")))[rows], dense)
            rows, dense = rows[kept], dense[kept]
        found = one_chunk(events.column("event_id")).take(pa.array(rows))
        return pa.table([found, pa.array(ids, kind).take(pa.array(dense)), pa.nulls(len(found), pa.string())], FOUND)

    return meet


def batch_of(events: pa.Table) -> EventBatch:
    """The events of a group."""
    offsets, attrs = flat_list(events.column("attrs"))
    keys = flat_list(events.column("keys"))[1]
    owner = np.repeat(np.arange(len(events)), np.diff(offsets))
    multi = bool(np.any((attrs[1:] == attrs[:-1]) & (owner[1:] == owner[:-1])))
    return EventBatch(offsets, attrs.astype(np.int32), keys, np.full(len(keys), -1, np.int32), (), multi)


def valid(filed: pa.Table, owners: Int64Array, count: int, times: Int64Array, dense: Int32Array) -> Mask:
    """Which matches lie in the validity of their subscription."""
    bounds = np.zeros((2, count), np.int64)
    for bound, name in zip(bounds, ("valid_from", "valid_until"), strict=True):
        bound[owners] = np.asarray(one_chunk(filed.column(name)))
    inside: Mask = (bounds[0][dense] <= times) & (times < bounds[1][dense])
    return inside
