"""The `sql` strategy: matching as two plain queries over tables of predicates, the baseline for the other strategies.

`sequential` joins every event with every predicate row on its attribute and counts, per conjunction, how many hold;
`grouping` evaluates each *distinct* predicate once and then counts through a relation of conjunctions and predicates.
(TOPSS, section 4: matching inside a database.) Keys and predicate codes are those of the encoded tables.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import ALL, ALL_SET, FIRST_SET, IN, IN_SET, MISSING, NONE, NONE_SET, OUT, OUT_SET
from tamis.errors import EventError
from tamis.model.limits import Limits
from tamis.spark.access import mixed
from tamis.spark.broadcast import Batches
from tamis.spark.frames import EventColumns
from tamis.spark.layout import Manifest
from tamis.spark.shuffle import tools
from tamis.spark.storage import as_micros, load_table, read_ids

NO_ATTRIBUTE, FAULTY = -1, -2
INSIDE = f"sum(if(if(p.op >= {FIRST_SET}, array_contains(p.members, e.key), e.key between p.lo and p.hi), 1, 0))"
HOLDS = f"""case when op in ({IN}, {IN_SET}) then inside > 0 when op in ({OUT}, {OUT_SET}) then inside < present
  when op in ({NONE}, {NONE_SET}) then inside = 0 when op in ({ALL}, {ALL_SET}) then inside = present else false end"""

SEQUENTIAL = f"""
select event, cid, count_if({HOLDS}) as good, count_if(op = {MISSING}) as bad from (
  select e.event, p.cid, p.pid, first(p.op) as op, count(*) as present, {INSIDE} as inside
  from {{events}} e join {{preds}} p on e.attr = p.attr group by e.event, p.cid, p.pid)
group by event, cid"""

GROUPING = f"""
select event, cid, count_if({HOLDS}) as good, count_if(op = {MISSING}) as bad from (
  select e.event, p.pid, first(p.op) as op, count(*) as present, {INSIDE} as inside
  from {{events}} e join (select distinct pid, attr, op, lo, hi, members from {{preds}}) p on e.attr = p.attr
  group by e.event, p.pid) join {{preds}} using (pid, op)
group by event, cid"""

ANSWER = f"""
with held as ({{held}})
select e.event_id, c.subscription_id, e.error from held h join {{conjs}} c on h.cid = c.cid
  join {{events}} e on e.event = h.event and e.attr = {NO_ATTRIBUTE}
  where h.good = c.need and h.bad = 0 and e.time >= c.valid_from and e.time < c.valid_until
union
select e.event_id, c.subscription_id, e.error from {{events}} e cross join {{conjs}} c
  left anti join (select event, cid from held where bad > 0) b on b.event = e.event and b.cid = c.cid
  where e.attr = {NO_ATTRIBUTE} and c.need = 0 and e.time >= c.valid_from and e.time < c.valid_until
union all
select event_id, null, error from {{events}} where attr = {FAULTY}"""


def sequential(
    events: DataFrame,
    index: str,
    version: str,
    columns: EventColumns,
    schema: str,
    limits: Limits,
    strict: bool,
    now: int,
) -> DataFrame:
    """The first query."""
    return answer(SEQUENTIAL, events, Path(index) / version, columns, limits, strict, now, by_content=False)


def grouping(
    events: DataFrame,
    index: str,
    version: str,
    columns: EventColumns,
    schema: str,
    limits: Limits,
    strict: bool,
    now: int,
) -> DataFrame:
    """The second query."""
    return answer(GROUPING, events, Path(index) / version, columns, limits, strict, now, by_content=True)


def answer(
    query: str,
    events: DataFrame,
    directory: Path,
    columns: EventColumns,
    limits: Limits,
    strict: bool,
    now: int,
    by_content: bool,
) -> DataFrame:
    """Run one of the queries over long events and predicate rows."""
    spark, manifest = events.sparkSession, Manifest.read(directory)
    long = long_events(events, directory, columns, limits, strict, now)
    preds = relation(spark, directory, manifest, PREDS, by_content)
    conjs = relation(spark, directory, manifest, CONJS.format(id=manifest.id_type), by_content)
    held = spark.sql(query, events=long, preds=preds)
    return spark.sql(ANSWER.replace("({held})", "(select * from {held})"), held=held, conjs=conjs, events=long)


def long_events(
    events: DataFrame, directory: Path, columns: EventColumns, limits: Limits, strict: bool, now: int
) -> DataFrame:
    """One row per (event, attribute, key), and one per event with no attribute. `event` numbers events by their content."""

    def run(batches: Batches) -> Batches:
        dictionary, text, _ = tools(str(directory))
        for batch in batches:
            encoded = columns.encode(batch, dictionary, limits)
            ids = batch.column(columns.id)
            for row in sorted(encoded.faults)[:1] if strict else ():
                raise EventError(f"event {ids[row].as_py()!r}: {encoded.faults[row]}")
            extended = text.extend(encoded.batch)
            owner = np.repeat(np.arange(len(extended)), np.diff(extended.offsets))
            rows = np.concatenate([encoded.rows[owner], encoded.rows])
            attrs = np.concatenate([extended.attrs, np.full(len(extended), NO_ATTRIBUTE, np.int32)])
            keys = np.concatenate([extended.keys, np.zeros(len(extended), np.int64)])
            bad = np.array(sorted(encoded.faults), np.int64)
            times = columns.times(batch, np.arange(len(batch)), now)
            yield long_rows(ids, rows, attrs, keys, times, [None] * len(rows))
            none = np.zeros(len(bad), np.int64)
            yield long_rows(
                ids, bad, np.full(len(bad), FAULTY, np.int32), none, times, [encoded.faults[r] for r in bad]
            )

    kind = events.schema[columns.id].dataType.simpleString()
    schema = f"event string, event_id {kind}, time bigint, attr int, key bigint, error string"
    return events.mapInArrow(run, schema)


def long_rows(
    ids: pa.Array,
    rows: Int64Array,
    attrs: Int32Array,
    keys: Int64Array,
    times: Int64Array,
    errors: Sequence[str | None],
) -> pa.RecordBatch:
    """Rows of the long relation."""
    chosen = ids.take(pa.array(rows))
    parts = [chosen.cast(pa.string()), chosen, pa.array(times[rows]), pa.array(attrs), pa.array(keys)]
    return pa.record_batch(
        [*parts, pa.array(errors, pa.string())], ["event", "event_id", "time", "attr", "key", "error"]
    )


PREDS = "cid bigint, pid bigint, attr int, op int, lo bigint, hi bigint, members array<bigint>"
CONJS = "cid bigint, subscription_id {id}, need bigint, valid_from bigint, valid_until bigint"


def relation(spark: SparkSession, directory: Path, manifest: Manifest, schema: str, by_content: bool) -> DataFrame:
    """`preds` or `conjs`, read from the shards by executors."""
    wanted = "preds" if schema is PREDS else "conjs"

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for number, shard in zip(
                batch.column("number").to_pylist(), batch.column("shard").to_pylist(), strict=True
            ):
                yield relations(directory, manifest, shard, number << 40, by_content)[wanted]

    plan = spark.createDataFrame(list(enumerate(manifest.shards)), "number bigint, shard string")
    return plan.repartition(len(manifest.shards), "shard").mapInArrow(run, schema)


def relations(
    directory: Path, manifest: Manifest, shard: str, base: int, by_content: bool
) -> dict[str, pa.RecordBatch]:
    """The relations of one shard. A predicate's number is its place, or a hash of its content."""
    table, ids = load_table(directory / shard, tools(str(directory))[0]), read_ids(directory / shard)
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    is_set = table.ops >= FIRST_SET
    offsets = np.concatenate([[0], np.cumsum(np.where(is_set, table.hi - table.lo, 0))])
    at = np.repeat(np.where(is_set, table.lo, 0) - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])
    members = pa.LargeListArray.from_arrays(offsets, table.sets[at]).cast(pa.list_(pa.int64()))
    lo, hi = np.where(is_set, 0, table.lo), np.where(is_set, 0, table.hi)
    pids = np.arange(len(owner)) + base
    if by_content:
        pids = content_numbers(table.attrs, table.ops, lo, hi, members)
        first = np.unique(np.column_stack([owner, pids]), axis=0, return_index=True)[1]
        owner, pids, members = owner[first], pids[first], members.take(pa.array(first))
        attrs, ops, lo, hi = table.attrs[first], table.ops[first], lo[first], hi[first]
    else:
        attrs, ops = table.attrs, table.ops
    need = np.bincount(owner[ops != MISSING], minlength=len(table))
    bounds = (
        [as_micros(ids, name)[table.owners] for name in ("valid_from", "valid_until")] if manifest.validity else None
    )
    if bounds is None:
        bounds = [np.full(len(table), limit, np.int64) for limit in (-(2**62), 2**62)]
    preds = [owner + base, pids, attrs, ops.astype(np.int32), lo, hi, members]
    names = ids.column("id").take(pa.array(table.owners))
    conjs = [np.arange(len(table)) + base, names, need, *bounds]
    return {
        "preds": pa.record_batch(list(map(pa.array, preds)), [part.split()[0] for part in PREDS.split(", ")]),
        "conjs": pa.record_batch(list(map(pa.array, conjs)), [part.split()[0] for part in CONJS.split(", ")]),
    }


def content_numbers(
    attrs: Int32Array, ops: NDArray[np.uint8], lo: Int64Array, hi: Int64Array, members: pa.Array
) -> Int64Array:
    """Hashes of predicates, equal for equal predicates on every machine."""
    number = mixed(mixed(attrs.astype(np.int64), ops.astype(np.int64)), lo)
    number = mixed(number, hi)
    owner = np.repeat(np.arange(len(members)), np.diff(np.asarray(members.offsets)))
    within = np.zeros(len(members), np.int64)
    np.add.at(within, owner, mixed(np.ones(len(owner), np.int64), np.asarray(members.flatten())))
    return mixed(number, within)
