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
from tamis.spark.profile import Profile

COLUMNS = ("owners", "offsets", "attrs", "ops", "lo", "hi", "sets")
ENGINE = "engine"
FROZEN = {"merge": "never"}
"""Options of an engine in a worker: a mapped index is not rebuilt in every process that happens to see unusual events."""
VALIDITY = ("valid_from", "valid_until")
ALWAYS = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])


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


def save_engine(
    table: SubscriptionTable, name: str, options: dict[str, Any], directory: Path, profile: Profile | None = None
) -> None:
    """Build an engine over a shard and write it, if it is one that can be mapped; others are built when opened.

    An engine that takes a `sample` of events gets one made of the profile.
    """
    kind = engine_class(name)
    if hasattr(kind, "save") and hasattr(kind, "open"):
        if profile is not None and "sample" in kind.options_type.__dataclass_fields__:
            options = {"sample": profile.sample(table.dictionary), **options}
        built = kind.build(table, make_options(kind.options_type, name, options))
        assert isinstance(built, Savable)
        built.save(directory / ENGINE)


def open_engine(table: SubscriptionTable, name: str, options: dict[str, Any], directory: Path) -> Engine:
    """The engine of a shard: mapped, or built from the mapped table."""
    kind: Any = engine_class(name)
    frozen = {key: value for key, value in FROZEN.items() if key in kind.options_type.__dataclass_fields__}
    chosen = make_options(kind.options_type, name, {**options, **frozen})
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


def validity(ids: pa.RecordBatch) -> Int64Array:
    """int64[2, ids]: from when (inclusive) until when (exclusive) each is valid, in microseconds; null means no bound."""
    bounds = np.repeat(ALWAYS[:, None], len(ids), axis=1)
    for bound, name, limit in zip(bounds, VALIDITY, ALWAYS.tolist(), strict=True):
        if name in ids.schema.names:
            bound[:] = ids.column(name).cast(pa.int64()).fill_null(limit)
    return bounds
