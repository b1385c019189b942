"""A compiled index as a worker sees it: opened once per process, its arrays mapped, so all workers of a node share pages.

`open_index` is cheap after the first call. A shard keeps its conjunctions as flat arrays beside the ids of the
subscriptions and, if there are any, their times of validity and the conjunctions that need operators.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int64Array
from tamis.encoding.saved import load_dictionary
from tamis.engines.base import Engine
from tamis.engines.operators import OperatorStage
from tamis.lang.shapes import ShapeCache
from tamis.model.event import Event
from tamis.predicates.text import TextIndex
from tamis.spark.layout import DICTIONARY, TASKS, Manifest
from tamis.spark.parts import import_all, operator_terms
from tamis.spark.storage import load_table, open_engine, read_ids, validity


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the subscription set. ids[dense] is the user's id, valid[:, dense] its validity in microseconds, if kept;
    dense ids beyond are tasks of the operator stage."""

    engine: Engine
    ids: pa.Array
    valid: Int64Array | None
    stage: OperatorStage

    def match(self, batch: EventBatch, times: Int64Array, events: Sequence[Event]) -> tuple[Int64Array, pa.Array]:
        """(event index, subscription id) columns of all matches valid at the events' times."""
        found = self.engine.match(batch)
        if len(self.stage):
            rows, dense = found.pairs()
            asked = set(rows[dense >= len(self.ids)].tolist())
            found = self.stage.decide([events[i] if i in asked else {} for i in range(len(batch))], found)
        rows, dense = found.pairs()
        if self.valid is not None:
            at = times[rows]
            kept = (self.valid[0, dense] <= at) & (at < self.valid[1, dense])
            rows, dense = rows[kept], dense[kept]
        return rows, self.ids.take(pa.array(dense))


class Index:
    """An opened version of an index."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.manifest = directory, Manifest.read(directory)
        self.dictionary, self.text = open_words(directory)
        import_all(self.manifest.operators)
        self.shards = [self.open_shard(directory / name) for name in self.manifest.shards]

    def match(self, batch: EventBatch, times: Int64Array, events: Sequence[Event] = ()) -> tuple[Int64Array, pa.Array]:
        """(event index, subscription id) columns over all shards. `events` are looked at only where operators need them."""
        extended = self.text.extend(batch)
        parts = [shard.match(extended, times, events) for shard in self.shards]
        if len(parts) == 1:
            return parts[0]
        rows = np.concatenate([rows for rows, _ in parts])
        return rows, pa.concat_arrays([ids for _, ids in parts])

    def open_shard(self, directory: Path) -> Shard:
        """Map a shard's files."""
        ids = read_ids(directory)
        table = load_table(directory, self.dictionary)
        engine = open_engine(table, self.manifest.engine, self.manifest.options, directory)
        valid = validity(ids) if self.manifest.validity else None
        return Shard(engine, ids.column("id"), valid, self.open_stage(directory, len(ids)))

    def open_stage(self, directory: Path, first: int) -> OperatorStage:
        """The operators of a shard's tasks, whose dense ids start at `first`."""
        stage = OperatorStage()
        if (directory / TASKS).exists():
            shapes = ShapeCache(self.dictionary.type)
            for number, row in enumerate(pq.read_table(directory / TASKS).to_pylist()):
                stage.add(first + number, row["owner"], operator_terms(shapes.normalise(row["filter"]))[row["term"]])
        return stage


@lru_cache(maxsize=2)
def open_index(directory: Path) -> Index:
    """A version of an index, opened once per process; the two used last stay open."""
    return Index(directory)


@lru_cache(maxsize=2)
def open_words(directory: Path) -> tuple[Dictionary, TextIndex]:
    """The dictionary of a version and its text predicates, for tasks that need no more; likewise once per process."""
    dictionary = load_dictionary(directory / DICTIONARY)
    return dictionary, TextIndex(dictionary)
