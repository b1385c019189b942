"""Parts: what one task makes of its share of the subscriptions, over a dictionary of its own, before all are merged.

A part is a directory in the staging area: `table.arrow`, `ids.arrow`, `dictionary.arrow`, and once the dictionaries are
merged `attributes.npy` and `strings.npy`, which say how the part's numbers read in the common dictionary.
"""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.encoding.arrow import table_from_arrow, table_to_arrow
from tamis.encoding.bulk_subscriptions import PREDICATE_SCHEMA, encode_predicates, predicate_faults
from tamis.encoding.columns import Mask, factorise, one_chunk
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.saved import save_dictionary
from tamis.encoding.subscriptions import SubscriptionTable, TableBuilder
from tamis.errors import DataError, OperatorError, TamisError
from tamis.lang.shapes import ShapeCache
from tamis.model.limits import Limits
from tamis.model.schema import PublicationType
from tamis.model.subscription import Conjunction, Dnf
from tamis.operators.check import check_operators, needs_operators
from tamis.operators.registry import OPERATORS
from tamis.spark.layout import DICTIONARY, QUARANTINE, TASKS
from tamis.spark.shaped import Shaped
from tamis.spark.storage import VALIDITY, save_ids

MICROS = pa.timestamp("us", "UTC")
PART_SCHEMA = pa.schema(
    {
        "part": pa.string(),
        "subscriptions": pa.int64(),
        "conjunctions": pa.int64(),
        "predicates": pa.int64(),
        "quarantined": pa.int64(),
        "several": pa.bool_(),
        "tasks": pa.int64(),
    }
)
TASK_SCHEMA = pa.schema({"owner": pa.int32(), "filter": pa.string(), "term": pa.int32()})
"""Conjunctions with operators: the subscription, its filter, and which of its conjunctions with operators it is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How subscriptions are read: where parts go, the type and the limits they are held to."""

    staging: str
    type: PublicationType | None
    limits: Limits
    operators: tuple[str, ...] = ()

    def texts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows (id, filter, validity…) of one task → a part; yields one row about it."""
        rows = collected(batches)
        if not len(rows):
            return
        import_all(self.operators)
        shapes = ShapeCache(self.type, self.limits)
        filters = rows.column("filter").to_pylist()
        faults = id_faults(rows.column("id"))
        shaped, others = Shaped(), dict[int, Dnf]()
        for row, text in enumerate(filters):
            if row not in faults:
                try:
                    found = shapes.lookup(text) if text is not None else None
                    if found is None or not shaped.add(row, *found):
                        others[row] = normal_form(text, shapes)
                except TamisError as problem:
                    faults[row] = str(problem)
        good = without(len(rows), faults)
        dense, count = np.cumsum(good) - 1, int(good.sum())
        dictionary = Dictionary(type=self.type)
        builder = TableBuilder(dictionary)
        tasks: list[tuple[int, str, int]] = []
        for row, dnf in others.items():
            dear = operator_terms(dnf)
            builder.add(int(dense[row]), tuple(term for term in dnf if term not in dear) if dear else dnf)
            for number, term in enumerate(dear):
                builder.add(count + len(tasks), (term,))
                tasks.append((int(dense[row]), filters[row], number))
        table = SubscriptionTable.concat([shaped.encode(dense, dictionary), builder.build()])
        kept = rows.drop_columns(["filter"]).filter(pa.array(good))
        bad = quarantined(rows.select(["id", "filter"]), faults)
        yield self.write(table, kept, bad, tasks)

    def predicates(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows (id, conjunction, attribute, operator, values…, validity…) of one task → a part. Whole subscriptions."""
        rows = collected(batches)
        if not len(rows):
            return
        ids, owner = factorise(one_chunk(rows.column("id")))
        data = rows.select([name for name in rows.column_names if name in PREDICATE_SCHEMA.names])
        data = data.append_column("subscription", pa.array(np.maximum(owner, 0).astype(np.int32)))
        faults = {int(owner[row]): message for row, message in predicate_faults(data).items()}
        if (owner < 0).any():
            faults[-1] = "the id is null"
        good = without(len(ids) + 1, faults)
        dense = np.cumsum(good[:-1]) - 1
        kept = good[owner]
        data = data.filter(pa.array(kept))
        renamed = pa.array(dense[owner[kept]].astype(np.int32))
        data = data.set_column(data.column_names.index("subscription"), "subscription", renamed)
        first = np.unique(owner[kept], return_index=True)[1]
        about = rows.select(["id", *(name for name in VALIDITY if name in rows.column_names)])
        about = about.filter(pa.array(kept)).take(pa.array(first))
        texts = pa.array([None] * len(faults), pa.string())
        listed = sorted(faults)
        names = pa.array([None if at < 0 else ids[at] for at in listed], rows.schema.field("id").type)
        bad = pa.table({"id": names, "filter": texts, "error": [faults[at] for at in listed]})
        yield self.write(encode_predicates(data, Dictionary(type=self.type)), about, bad)

    def write(
        self, table: SubscriptionTable, ids: pa.Table, bad: pa.Table, tasks: Sequence[tuple[int, str, int]] = ()
    ) -> pa.RecordBatch:
        """A part's files, under a name nobody else uses, so that repeated and speculative tasks do not meet."""
        directory = Path(self.staging) / uuid.uuid4().hex
        directory.mkdir(parents=True)
        batch = table_to_arrow(table)
        with pa.OSFile(str(directory / "table.arrow"), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        save_ids(with_micros(ids), directory)
        save_dictionary(table.dictionary, directory / DICTIONARY)
        if len(bad):
            pq.write_table(bad, directory / f"{QUARANTINE}.parquet")
        if tasks:
            columns = zip(*tasks, strict=True)
            listed = pa.table([pa.array(column) for column in columns], names=TASK_SCHEMA.names).cast(TASK_SCHEMA)
            pq.write_table(listed, directory / TASKS)
        several = bool(np.any(np.bincount(table.owners, minlength=1) > 1))
        row = [directory.name, len(ids), len(table), len(table.attrs), len(bad), several or bool(tasks), len(tasks)]
        return pa.record_batch([pa.array([value]) for value in row], schema=PART_SCHEMA)


def normal_form(text: str | None, shapes: ShapeCache) -> Dnf:
    """One filter in normal form, its operators checked."""
    if text is None:
        raise DataError("the filter is null")
    dnf = shapes.normalise(text)
    check_operators(dnf, OPERATORS)
    return dnf


def operator_terms(dnf: Dnf) -> tuple[Conjunction, ...]:
    """The conjunctions that need operators."""
    return tuple(term for term in dnf if needs_operators(term))


def import_all(modules: Iterable[str]) -> None:
    """Import modules that declare operators."""
    for name in modules:
        try:
            import_module(name)
        except ImportError as problem:
            raise OperatorError(f"cannot import {name!r}, which declares operators: {problem}") from problem


def collected(batches: Iterator[pa.RecordBatch]) -> pa.Table:
    """All rows of a task; shares are sized so that they fit."""
    found = list(batches)
    return pa.Table.from_batches(found) if found else pa.table({})


def id_faults(ids: pa.ChunkedArray) -> dict[int, str]:
    """Rows whose id is null or not unique. Rows of one id always meet in one task."""
    names, which = factorise(one_chunk(ids))
    counts = np.bincount(which[which >= 0], minlength=len(names))
    faults = dict.fromkeys(np.flatnonzero(which < 0).tolist(), "the id is null")
    for row in np.flatnonzero((which >= 0) & (counts[which] > 1)).tolist() if len(names) else ():
        at = which[row]
        faults[row] = f"the id {names[at]!r} is given {counts[at]} times"
    return faults


def without(count: int, faults: dict[int, str]) -> Mask:
    """Which of `count` rows have no fault."""
    good = np.ones(count, bool)
    good[list(faults)] = False
    return good


def quarantined(rows: pa.Table, faults: dict[int, str]) -> pa.Table:
    """The rows at fault with what is wrong with them."""
    at = sorted(faults)
    return rows.take(pa.array(at, pa.int64())).append_column(
        "error", pa.array([faults[row] for row in at], pa.string())
    )


def with_micros(ids: pa.Table) -> pa.Table:
    """Validity bounds as microseconds in UTC."""
    for name in VALIDITY:
        if name in ids.column_names:
            at = ids.column_names.index(name)
            ids = ids.set_column(at, name, pc.cast(ids.column(name), MICROS))
    return ids


def read_part_table(directory: Path, dictionary: Dictionary) -> SubscriptionTable:
    """The table of a part, over its own dictionary's numbers."""
    with pa.memory_map(str(directory / "table.arrow")) as source:
        return table_from_arrow(pa.ipc.open_file(source).get_batch(0), dictionary)
