"""The `sql` strategy: matching as two plain queries over tables of predicates, the baseline for the other strategies.

`sequential` joins every event with every predicate row on its attribute and counts, per conjunction, how many hold;
`grouping` evaluates each *distinct* predicate once and then counts through a relation of conjunctions and predicates.
(TOPSS, section 4: matching inside a database.) Keys and predicate codes are those of the encoded tables.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import ALL, ALL_SET, FIRST_SET, IN, IN_SET, MISSING, NONE, NONE_SET, OUT, OUT_SET
from tamis.spark.hashing import mixed
from tamis.spark.index import open_words
from tamis.spark.request import Batches, Request, over_shards
from tamis.spark.storage import load_table, read_ids, validity

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


LONG = "event string, event_id {kind}, time bigint, attr int, key bigint, error string"
PREDS = "cid bigint, pid bigint, attr int, op int, lo bigint, hi bigint, members array<bigint>"
CONJS = "cid bigint, subscription_id {kind}, need bigint, valid_from bigint, valid_until bigint"


def sequential(events: DataFrame, request: Request) -> DataFrame:
    """The first query."""
    return answer(SEQUENTIAL, events, request, by_content=False)


def grouping(events: DataFrame, request: Request) -> DataFrame:
    """The second query."""
    return answer(GROUPING, events, request, by_content=True)


def answer(query: str, events: DataFrame, request: Request, by_content: bool) -> DataFrame:
    """Run one of the queries over long events and predicate rows."""
    spark = events.sparkSession
    long = events.mapInArrow(lengthen(request), LONG.format(kind=request.event_id_type))
    preds, conjs = (
        over_shards(spark, request.directory, request.manifest, relation(request, name, by_content), schema)
        for name, schema in (("preds", PREDS), ("conjs", CONJS.format(kind=request.manifest.id_type)))
    )
    held = spark.sql(query, events=long, preds=preds)
    return spark.sql(ANSWER.replace("({held})", "(select * from {held})"), held=held, conjs=conjs, events=long)


def lengthen(request: Request) -> Callable[[Batches], Batches]:
    """Events → one row per (event, attribute, key), and one per event with no attribute. `event` is the id as text."""

    def run(batches: Batches) -> Batches:
        dictionary, text = open_words(request.directory)
        for batch in batches:
            found, faulty = request.read(batch, dictionary)
            extended = text.extend(found.batch)
            count = len(extended)
            rows = np.concatenate([np.repeat(np.arange(count), np.diff(extended.offsets)), np.arange(count)])
            attrs = np.concatenate([extended.attrs, np.full(count, NO_ATTRIBUTE, np.int32)])
            keys = np.concatenate([extended.keys, np.zeros(count, np.int64)])
            none = pa.nulls(len(rows), pa.string())
            yield long_rows(found.ids.take(pa.array(rows)), found.times[rows], attrs, keys, none)
            if faulty is not None:
                zeros, marks = np.zeros(len(faulty), np.int64), np.full(len(faulty), FAULTY, np.int32)
                yield long_rows(faulty.column("event_id"), zeros, marks, zeros, faulty.column("error"))

    return run


def long_rows(
    ids: pa.Array, times: Int64Array, attrs: Int32Array, keys: Int64Array, errors: pa.Array
) -> pa.RecordBatch:
    """Rows of the long relation."""
    columns = [ids.cast(pa.string()), ids, pa.array(times), pa.array(attrs), pa.array(keys), errors]
    return pa.record_batch(columns, names_of(LONG))


def relation(request: Request, wanted: str, by_content: bool) -> Callable[[int, Path], Batches]:
    """`preds` or `conjs` of a shard."""

    def run(number: int, shard: Path) -> Batches:
        yield relations(request, shard, number << 40, by_content)[wanted]

    return run


def relations(request: Request, shard: Path, base: int, by_content: bool) -> dict[str, pa.RecordBatch]:
    """The relations of one shard. A predicate's number is its place, or a hash of its content."""
    table, ids = load_table(shard, open_words(request.directory)[0]), read_ids(shard)
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    is_set = table.ops >= FIRST_SET
    offsets = np.concatenate([[0], np.cumsum(np.where(is_set, table.hi - table.lo, 0))])
    at = np.repeat(np.where(is_set, table.lo, 0) - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])
    members = pa.LargeListArray.from_arrays(offsets, table.sets[at]).cast(pa.list_(pa.int64()))
    attrs, ops = table.attrs, table.ops
    lo, hi = np.where(is_set, 0, table.lo), np.where(is_set, 0, table.hi)
    pids = np.arange(len(owner)) + base
    if by_content:
        pids = content_numbers(attrs, ops, lo, hi, members)
        first = np.unique(np.column_stack([owner, pids]), axis=0, return_index=True)[1]
        owner, pids, members = owner[first], pids[first], members.take(pa.array(first))
        attrs, ops, lo, hi = attrs[first], ops[first], lo[first], hi[first]
    need = np.bincount(owner[ops != MISSING], minlength=len(table))
    preds = [owner + base, pids, attrs, ops.astype(np.int32), lo, hi, members]
    names = ids.column("id").take(pa.array(table.owners))
    conjs = [np.arange(len(table)) + base, names, need, *validity(ids)[:, table.owners]]
    return {
        "preds": pa.record_batch(list(map(pa.array, preds)), names_of(PREDS)),
        "conjs": pa.record_batch(list(map(pa.array, conjs)), names_of(CONJS)),
    }


def names_of(schema: str) -> list[str]:
    """The names of a schema's columns."""
    return [part.split()[0] for part in schema.split(", ")]


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
