"""Files of a shard: its conjunctions as flat arrays, the ids of its subscriptions, their validity. All read by mapping."""

from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import pyarrow as pa

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import Int64Array
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Engine, Options, make_options
from tamis.engines.registry import engine_class
from tamis.errors import StorageError

COLUMNS = ("owners", "offsets", "attrs", "ops", "lo", "hi", "sets")
ENGINE = "engine"
ALWAYS = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


@runtime_checkable
class Savable(Engine, Protocol):
    """An engine that can be written to a directory and mapped from it."""

    def save(self, path: Path) -> None:
        """Write it."""
        ...

    @classmethod
    def open(cls, path: Path, options: Options, verify: bool) -> Self:
        """Map what `save` wrote."""
        ...


def save_engine(table: SubscriptionTable, name: str, options: dict[str, Any], directory: Path) -> None:
    """Build an engine over a shard and write it, if it is one that can be mapped; others are built when opened."""
    kind = engine_class(name)
    if hasattr(kind, "save") and hasattr(kind, "open"):
        built = kind.build(table, make_options(kind.options_type, name, options))
        assert isinstance(built, Savable)
        built.save(directory / ENGINE)


def open_engine(table: SubscriptionTable, name: str, options: dict[str, Any], directory: Path) -> Engine:
    """The engine of a shard: mapped, or built from the mapped table."""
    kind: Any = engine_class(name)
    chosen = make_options(kind.options_type, name, options)
    if (directory / ENGINE).exists():
        mapped: Engine = kind.open(directory / ENGINE, chosen, verify=False)
        return mapped
    built: Engine = kind.build(table, chosen)
    return built


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
    if name not in ids.schema.names:
        return np.full(len(ids), ALWAYS[name == "valid_until"], np.int64)
    micros = ids.column(name).cast(pa.int64())
    return np.asarray(micros.fill_null(ALWAYS[name == "valid_until"]))
