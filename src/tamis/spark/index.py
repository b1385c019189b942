"""A compiled index as a worker sees it: opened once per process, its arrays mapped, so all workers of a node share pages.

`open_index` is cheap after the first call. A shard keeps its conjunctions as flat arrays beside the ids of the
subscriptions and, if there are any, their times of validity.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int64Array
from tamis.encoding.saved import load_dictionary
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Engine
from tamis.engines.registry import build_engine
from tamis.errors import StorageError
from tamis.predicates.text import TextIndex
from tamis.spark.layout import DICTIONARY, Manifest, current_version

COLUMNS = ("owners", "offsets", "attrs", "ops", "lo", "hi", "sets")
ALWAYS = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the subscription set. ids[dense] is the user's id; valid_from/valid_until are microseconds, if kept."""

    engine: Engine
    ids: pa.Array
    valid_from: Int64Array | None
    valid_until: Int64Array | None

    def match(self, events: EventBatch, times: Int64Array | None) -> tuple[Int64Array, pa.Array]:
        """(event index, subscription id) columns of all matches valid at the events' times."""
        found = self.engine.match(events)
        rows, dense = found.pairs()
        if self.valid_from is not None and self.valid_until is not None and times is not None:
            at = times[rows]
            kept = (self.valid_from[dense] <= at) & (at < self.valid_until[dense])
            rows, dense = rows[kept], dense[kept]
        return rows, self.ids.take(pa.array(dense))


class Index:
    """An opened version of an index."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.manifest = directory, Manifest.read(directory)
        self.dictionary = load_dictionary(directory / DICTIONARY)
        self.text = TextIndex(self.dictionary)
        self.shards = [self.open_shard(directory / name) for name in self.manifest.shards]

    def match(self, events: EventBatch, times: Int64Array | None) -> tuple[Int64Array, pa.Array]:
        """(event index, subscription id) columns over all shards."""
        extended = self.text.extend(events)
        parts = [shard.match(extended, times) for shard in self.shards]
        if len(parts) == 1:
            return parts[0]
        rows = np.concatenate([rows for rows, _ in parts] or [np.zeros(0, np.int64)])
        ids = [ids for _, ids in parts]
        return rows, pa.concat_arrays(ids) if ids else pa.array([], id_type(self.manifest))

    def open_shard(self, directory: Path) -> Shard:
        """Map a shard's files."""
        ids = read_ids(directory)
        table = load_table(directory, self.dictionary)
        engine = build_engine(self.manifest.engine, table, self.manifest.options)
        bounds = (
            [as_micros(ids, name) for name in ("valid_from", "valid_until")] if self.manifest.validity else [None] * 2
        )
        return Shard(engine, ids.column("id"), *bounds)


@lru_cache(maxsize=2)
def open_version(index: str, version: str) -> Index:
    """A version of an index, opened once per process; the two used last stay open."""
    return Index(Path(index) / version)


def open_index(index: str | Path, version: str | None = None) -> Index:
    """The current version of an index, or the one named."""
    return open_version(str(index), version or current_version(index))


def save_table(table: SubscriptionTable, directory: Path) -> None:
    """A shard's conjunctions as flat arrays."""
    for name in COLUMNS:
        np.save(directory / f"{name}.npy", getattr(table, name))


def load_table(directory: Path, dictionary: Dictionary) -> SubscriptionTable:
    """The conjunctions, mapped read-only."""
    try:
        columns: dict[str, Any] = {name: np.load(directory / f"{name}.npy", mmap_mode="r") for name in COLUMNS}
    except (OSError, ValueError) as problem:
        raise StorageError(f"the shard {directory} is damaged: {problem}") from problem
    return SubscriptionTable(**columns, dictionary=dictionary)


def save_ids(ids: pa.Table, directory: Path) -> None:
    """Ids by dense number, with validity columns if there are any."""
    with pa.OSFile(str(directory / "ids.arrow"), "wb") as sink, pa.ipc.new_file(sink, ids.schema) as writer:
        writer.write_table(ids.combine_chunks())


def read_ids(directory: Path) -> pa.RecordBatch:
    """What `save_ids` wrote, mapped."""
    try:
        source = pa.memory_map(str(directory / "ids.arrow"))
        table = pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowInvalid) as problem:
        raise StorageError(f"the shard {directory} is damaged: {problem}") from problem
    columns = [table.column(name).combine_chunks() for name in table.column_names]
    return pa.record_batch(columns, schema=table.schema)


def as_micros(ids: pa.RecordBatch, name: str) -> Int64Array:
    """A validity bound in microseconds; null means no bound."""
    micros = ids.column(name).cast(pa.int64())
    return np.asarray(micros.fill_null(ALWAYS[name == "valid_until"]))


def id_type(manifest: Manifest) -> pa.DataType:
    """The Arrow type of subscription ids."""
    return pa.string() if manifest.id_type == "string" else pa.int64()
