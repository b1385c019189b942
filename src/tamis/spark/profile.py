"""What events look like, in one pass: presence, distinct values, heavy values and a histogram per attribute.

Tasks summarise their batches into sketches of fixed size; the driver adds the sketches up. Distinct counts come from the
smallest hashes seen (k minimum values), which also are a uniform sample of the distinct values; heavy values from counters
of which only the largest are kept (their counts are lower bounds once some were dropped); quantiles from a uniform sample of
values, chosen by a hash of their place.
"""

import json
from ast import literal_eval
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from tamis.encoding.bulk_events import add_column
from tamis.encoding.bulk_json import add_json
from tamis.encoding.columns import factorise
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import UNKNOWN_STRING, Int64Array, number_keys
from tamis.encoding.pairs import Pairs
from tamis.model.limits import Limits
from tamis.model.values import Scalar
from tamis.spark.frames import EventColumns
from tamis.spark.hashing import mixed
from tamis.spark.request import Batches

Floats = NDArray[np.float64]
SKETCH, HEAVY, SAMPLE, BARS = 1024, 32, 1024, 20
EVENTS = 4096
"""Events made of a profile for engines that look at events when they are built."""


@dataclass
class AttributeProfile:
    """One attribute: in how many events, how many values, about how many distinct ones, the heavy ones, quantiles."""

    present: int = 0
    values: int = 0
    distinct: float = 0
    heavy: dict[str, int] = field(default_factory=dict)
    quantiles: list[float] = field(default_factory=list)

    def heaviest(self) -> list[tuple[Scalar, int]]:
        """The heavy values themselves with their counts."""
        return [(literal_eval(text), count) for text, count in self.heavy.items()]

    def typical(self, count: int, dictionary: Dictionary) -> Int64Array:
        """Keys of `count` values: heavy ones by their shares, others along the quantiles, or strings nobody asks for."""
        heavy = [(dictionary.key(value), seen) for value, seen in self.heaviest()]
        copies = np.array([round(count * seen / max(1, self.values)) for _, seen in heavy], np.int64)
        known = np.repeat(np.array([key for key, _ in heavy], np.int64), copies)[:count]
        others = np.full(1, UNKNOWN_STRING)
        if self.quantiles:
            places = np.linspace(0, BARS, 20 * BARS + 1)
            others = number_keys(np.interp(places, np.arange(BARS + 1), self.quantiles))
            others = others[~np.isin(others, known)] if len(known) < count else others
        rest = np.linspace(0, len(others) - 1, count - len(known)).astype(np.int64) if len(others) else others
        return np.concatenate([known, others[rest]])


@dataclass
class Profile:
    """All attributes of a set of events."""

    events: int
    malformed: int
    attributes: dict[str, AttributeProfile]

    def presence(self, name: str) -> float:
        """The part of the events that carry an attribute."""
        found = self.attributes.get(name)
        return found.present / self.events if found and self.events else 0.0

    def rarest_first(self) -> list[str]:
        """Attribute names in the order of their presence."""
        return sorted(self.attributes, key=lambda name: (self.attributes[name].present, name))

    def statistics(self) -> dict[str, Any]:
        """What `tamis.candidates.statistics` reads: presence, distinct values and the shares of heavy ones."""
        return {
            "attributes": {
                name: {
                    "presence": self.presence(name),
                    "distinct": round(about.distinct),
                    "heavy": [[value, count / max(1, self.events)] for value, count in about.heaviest()],
                }
                for name, about in self.attributes.items()
            }
        }

    def sample(self, dictionary: Dictionary, count: int = EVENTS) -> EventBatch:
        """`count` events with the same attributes and values by and large, each attribute on its own."""
        parts: list[tuple[Int64Array, Int64Array, Int64Array]] = []
        for name, about in self.attributes.items():
            keys = about.typical(round(count * self.presence(name)), dictionary)
            if name in dictionary.ids and len(keys):
                attribute = dictionary.ids[name]
                rows = (np.arange(len(keys)) * count // len(keys) + attribute) % count
                parts.append((rows, np.full(len(keys), attribute), keys))
        columns = zip(*parts, strict=True) if parts else ([np.zeros(0, np.int64)] for _ in range(3))
        rows, attributes, keys = (np.concatenate(list(column)) for column in columns)
        return from_pairs(count, rows, attributes, keys, np.full(len(keys), -1))

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        Path(path).write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def load(path: str | Path) -> "Profile":
        """Read what `save` wrote."""
        found = json.loads(Path(path).read_text())
        attributes = {name: AttributeProfile(**about) for name, about in found["attributes"].items()}
        return Profile(found["events"], found["malformed"], attributes)


@dataclass
class Sketch:
    """What one task knows of one attribute; `hashes` ascending and distinct, `order` the hashes of the places of `sample`."""

    present: int = 0
    values: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    hashes: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    order: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    sample: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, other: "Sketch") -> None:
        """Take in what another sketch knows."""
        self.present += other.present
        self.values += other.values
        for value, count in other.counts.items():
            self.counts[value] = self.counts.get(value, 0) + count
        if len(self.counts) > 4 * HEAVY:
            self.counts = dict(sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))[: 2 * HEAVY])
        self.hashes = np.unique(np.concatenate([self.hashes, other.hashes]))[:SKETCH]
        order, sample = np.concatenate([self.order, other.order]), np.concatenate([self.sample, other.sample])
        kept = np.argsort(order, kind="stable")[:SAMPLE]
        self.order, self.sample = order[kept], sample[kept]

    def profile(self) -> AttributeProfile:
        """The estimates."""
        full = len(self.hashes) == SKETCH
        distinct = (SKETCH - 1) / (self.hashes[-1] / 2.0**63) if full else float(len(self.hashes))
        heavy = dict(sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))[:HEAVY])
        quantiles = np.quantile(self.sample, np.linspace(0, 1, BARS + 1)).tolist() if len(self.sample) else []
        return AttributeProfile(self.present, self.values, distinct, heavy, quantiles)

    def to_json(self) -> str:
        """For the way from a task to the driver."""
        columns = {name: getattr(self, name).tolist() for name in ("hashes", "order", "sample")}
        return json.dumps({"present": self.present, "values": self.values, "counts": self.counts, **columns})

    @staticmethod
    def from_json(text: str) -> "Sketch":
        """What `to_json` wrote."""
        found = json.loads(text)
        columns = {name: np.array(found[name], np.int64) for name in ("hashes", "order")}
        return Sketch(**{**found, **columns, "sample": np.array(found["sample"], np.float64)})


class Observed(Pairs):
    """Collects sketches instead of keys."""

    def __init__(self, count: int, first: int) -> None:
        super().__init__(count, Dictionary(), Limits())
        self.first = first
        self.sketches: dict[str, Sketch] = {}

    def encode(self, names: list[str], which: Int64Array, rows: Int64Array, values: pa.Array) -> None:
        """Sketch the values of each attribute."""
        distinct, codes = factorise(values)
        texts = [repr(value) for value in distinct]
        hashes = np.array([stable_hash(text) for text in texts], np.int64)
        numeric = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        numbers = np.array(distinct, np.float64) if numeric else np.zeros(0)
        by_name = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[by_name], np.arange(len(names) + 1))
        for name, start, end in zip(names, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            if start < end:
                mine = by_name[start:end]
                self.sketches.setdefault(name, Sketch()).add(
                    self.sketch(rows[mine], codes[mine], texts, hashes, numbers)
                )

    def sketch(
        self, rows: Int64Array, codes: Int64Array, texts: list[str], hashes: Int64Array, numbers: Floats
    ) -> Sketch:
        """Of one attribute's values, given by their codes; `numbers` is empty unless they are numbers."""
        used, counts = np.unique(codes, return_counts=True)
        heaviest = np.argsort(-counts, kind="stable")[: 2 * HEAVY]
        heavy = {texts[used[at]]: int(counts[at]) for at in heaviest.tolist()}
        sketch = Sketch(len(np.unique(rows)), len(rows), heavy, np.unique(hashes[used])[:SKETCH])
        if len(numbers):
            order = mixed(rows, np.full(len(rows), self.first))
            kept = np.argsort(order, kind="stable")[:SAMPLE]
            sketch.order, sketch.sample = order[kept], numbers[codes[kept]]
        return sketch


def stable_hash(text: str) -> int:
    """63 bits that depend on the text alone, on every machine."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def profile(events: DataFrame, columns: EventColumns = EventColumns()) -> Profile:
    """Profile events of any shape; malformed ones are counted and left out."""
    columns.check(events)
    totals: dict[str, Sketch] = {}
    seen = malformed = 0
    rows: Iterator[Any] = events.mapInArrow(observer(columns), "name string, sketch string").toLocalIterator()
    for row in rows:
        if row.name is None:
            found = json.loads(row.sketch)
            seen, malformed = seen + found["events"], malformed + found["malformed"]
        else:
            totals.setdefault(row.name, Sketch()).add(Sketch.from_json(row.sketch))
    return Profile(seen, malformed, {name: totals[name].profile() for name in sorted(totals)})


def observer(columns: EventColumns) -> Callable[[Batches], Batches]:
    """The function a task runs: its batches in, its sketches out."""

    def run(batches: Batches) -> Batches:
        total: dict[str, Sketch] = {}
        seen = malformed = 0
        for batch in batches:
            observed = observe(batch, columns, seen)
            seen, malformed = seen + len(batch), malformed + len(observed.faults)
            for name, sketch in observed.sketches.items():
                total.setdefault(name, Sketch()).add(sketch)
        about = [json.dumps({"events": seen, "malformed": malformed})]
        about += [sketch.to_json() for sketch in total.values()]
        yield pa.record_batch([pa.array([None, *total], pa.string()), pa.array(about)], ["name", "sketch"])

    return run


def observe(batch: pa.RecordBatch, columns: EventColumns, first: int) -> Observed:
    """The sketches of one batch."""
    observed = Observed(len(batch), first)
    for name in batch.schema.names:
        if name in columns.json:
            add_json(observed, batch.column(name))
        elif name != columns.id and name not in columns.ignore:
            path = () if name in columns.spread else (name,)
            add_column(observed, path, np.arange(len(batch)), batch.column(name))
    return observed
