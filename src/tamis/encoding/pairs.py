"""Collects (event, attribute, value) columns for one `EventBatch`; what the bulk ways in have in common.

Values arrive as Arrow columns without nulls, each with the rows they belong to and the paths of their attributes. Faults
(NaN, huge unsigned numbers, values outside a declared domain, names given twice, limits) are kept per row, first one wins;
the batch holds the rows without faults.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.encoding.columns import Mask, factorise, numpy_of, to_mask
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import EXACT, FALSE, TRUE, UNKNOWN_STRING, Int32Array, Int64Array, number_keys
from tamis.errors import DataError, EventError
from tamis.model.limits import Limits
from tamis.model.schema import admit
from tamis.model.values import Scalar

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """`batch` event i is input row rows[i]; `faults` says of every other row what is wrong with it."""

    batch: EventBatch
    rows: Int64Array
    faults: dict[int, str]

    def strict(self) -> EventBatch:
        """The batch, or an EventError for the first bad row."""
        for row in sorted(self.faults):
            raise EventError(f"row {row}: {self.faults[row]}")
        return self.batch


class Pairs:
    """The growing columns."""

    def __init__(self, count: int, dictionary: Dictionary, limits: Limits) -> None:
        self.count, self.dictionary, self.limits = count, dictionary, limits
        self.paths: dict[Path, int] = {}
        self.faults: dict[int, str] = {}
        self.seen: list[tuple[Int64Array, Int64Array]] = []
        self.columns: list[tuple[Int64Array, Int32Array, Int64Array, Int32Array]] = []
        self.raws: list[Scalar] = []

    def fault(self, rows: Any, message: str) -> None:
        """Note a fault of rows."""
        for row in rows.tolist():
            self.faults.setdefault(row, message)

    def path_ids(self, paths: list[Path]) -> Int64Array:
        """Numbers of paths, made when new."""
        return np.array([self.paths.setdefault(path, len(self.paths)) for path in paths], np.int64)

    def add(self, paths: list[Path], which: Int64Array, rows: Int64Array, values: pa.Array) -> None:
        """Values of one Arrow type, none null: value i belongs to row rows[i] and attribute paths[which[i]]."""
        if not len(values):
            return
        names = [".".join(path) for path in paths]
        self.seen.append((rows, self.path_ids(paths)[which]))
        values, good = self.plain(names, which, rows, values)
        if not good.all():
            values, which, rows = values.filter(pa.array(good)), which[good], rows[good]
        if self.dictionary.type is not None:
            self.typed(names, which, rows, values)
            return
        self.encode(names, which, rows, values)

    def plain(self, names: list[str], which: Int64Array, rows: Int64Array, values: pa.Array) -> tuple[pa.Array, Mask]:
        """The values as bool, int64, float64 or string, and which of them are admissible at all."""
        kind, good = values.type, np.ones(len(values), bool)
        if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
            values = values.cast(kind.value_type)
            kind = values.type
        if pa.types.is_uint64(kind):
            good = numpy_of(values) < 2**63
            values = pa.array(numpy_of(values).view(np.int64))
        elif pa.types.is_integer(kind):
            values = values.cast(pa.int64())
        elif pa.types.is_floating(kind):
            numbers = numpy_of(values.cast(pa.float64())) + 0.0  # one zero, as everywhere
            values, good = pa.array(numbers), np.isfinite(numbers)
        elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            values = values.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False).cast(pa.int64())
        elif pa.types.is_decimal(kind):
            values, good = from_decimal(values)
        elif not (pa.types.is_boolean(kind) or is_text(kind) or pa.types.is_dictionary(kind)):
            raise DataError(f"column {names[0]!r} has type {kind}, which no attribute can hold; cast or drop it")
        for at in np.flatnonzero(~good):
            text = f"attribute {names[which[at]]!r}: {values[int(at)]} is not a finite number of 64 bits"
            self.fault(rows[at : at + 1], text)
        return values, good

    def typed(self, names: list[str], which: Int64Array, rows: Int64Array, values: pa.Array) -> None:
        """Admit the distinct values of each attribute under the declared type, then encode what it stores."""
        declared = self.dictionary.type
        assert declared is not None
        texts, codes = factorise(values)
        for at in np.unique(which):
            mine = which == at
            attribute = declared.attributes.get(names[at])
            if attribute is None:
                self.fault(rows[mine], f"type {declared.name} has no attribute {names[at]!r}")
                continue
            stored: dict[type, list[tuple[int, Scalar]]] = {}
            for code in np.unique(codes[mine]).tolist():
                try:
                    value = admit(attribute, texts[code])
                    stored.setdefault(type(value), []).append((code, value))
                except EventError as problem:
                    self.fault(rows[mine & (codes == code)], str(problem))
            for pairs in stored.values():
                known, admitted = zip(*pairs, strict=True)
                chosen = mine & np.isin(codes, known)
                place = np.searchsorted(np.array(known), codes[chosen])
                column = pa.array(admitted).take(pa.array(place))
                self.encode(names, which[chosen], rows[chosen], column)

    def encode(self, names: list[str], which: Int64Array, rows: Int64Array, values: pa.Array) -> None:
        """Keys, and raw values where derived attributes ask for them, of attributes some subscription names."""
        d = self.dictionary
        ids = np.array([d.ids.get(name, -1) for name in names], np.int32)
        if (ids < 0).any():
            kept = ids[which] >= 0
            values, which, rows = values.filter(pa.array(kept)), which[kept], rows[kept]
        if not len(values):
            return
        attrs = ids[which]
        derived = np.array([i in d.by_base for i in ids.tolist()], bool)[which]
        companion = np.array([i in d.companions for i in ids.tolist()], bool)[which]
        raw = np.full(len(rows), -1, np.int32)
        if pa.types.is_boolean(values.type):
            keys = np.where(to_mask(values), TRUE, FALSE)
            wanted = derived
        elif is_text(values.type) or pa.types.is_dictionary(values.type):
            texts, codes = factorise(values)
            keys = np.array([d.strings.get(text, 0) for text in texts], np.int64)[codes] + UNKNOWN_STRING
            wanted = derived
        else:
            numbers = numpy_of(values)
            keys = number_keys(numbers)
            wanted = derived | (companion & ((numbers >= EXACT) | (numbers <= -EXACT)))
        if wanted.any():
            texts, codes = factorise(values.filter(pa.array(wanted)))
            used, codes = np.unique(codes, return_inverse=True)
            raw[wanted] = codes.reshape(-1) + len(self.raws)
            self.raws += [texts[code] for code in used.tolist()]
        self.columns.append((rows, attrs, keys, raw))

    def finish(self) -> Encoded:
        """The batch of all rows without faults."""
        self.check_rows()
        kinds = (np.int64, np.int32, np.int64, np.int32)
        columns = zip(*self.columns, strict=True) if self.columns else ([np.zeros(0, k)] for k in kinds)
        rows, attrs, keys, raw = (np.concatenate(list(parts)) for parts in columns)
        good = np.ones(self.count, bool)
        good[list(self.faults)] = False
        number = np.cumsum(good) - 1
        if not good.all():
            kept = good[rows]
            rows, attrs, keys, raw = rows[kept], attrs[kept], keys[kept], raw[kept]
        batch = from_pairs(int(good.sum()), number[rows], attrs, keys, raw, self.raws)
        return Encoded(batch, np.flatnonzero(good), self.faults)

    def check_rows(self) -> None:
        """What can only be said of a row as a whole: names given twice, lists where one value is allowed, limits."""
        if not self.seen:
            return
        rows, paths = (np.concatenate(parts) for parts in zip(*self.seen, strict=True))
        values = np.bincount(rows, minlength=self.count)
        over = np.flatnonzero(values > self.limits.event_values)
        self.fault(over, f"the event has more values than event_values = {self.limits.event_values:,}")
        dotted: dict[str, list[int]] = {}
        for path, number in self.paths.items():
            dotted.setdefault(".".join(path), []).append(number)
        for name, numbers in dotted.items():
            if len(numbers) > 1:
                ways = sum(np.bincount(rows[paths == n], minlength=self.count) > 0 for n in map(np.int64, numbers))
                self.fault(np.flatnonzero(ways > 1), f"attribute {name!r} is given twice, flat and nested")
        self.check_attributes(rows, paths, values)
        if self.dictionary.type is not None:
            self.check_single(rows, paths)

    def check_attributes(self, rows: Int64Array, paths: Int64Array, values: Int64Array) -> None:
        """The limit on attributes per event; only events with more values than that can exceed it."""
        allowed = self.limits.event_attributes
        suspects = (values > allowed)[rows]
        found = np.bincount(np.unique(rows[suspects] * len(self.paths) + paths[suspects]) // len(self.paths))
        for row in np.flatnonzero(found > allowed).tolist():
            self.fault(np.array([row]), f"the event has {found[row]:,} attributes; event_attributes = {allowed:,}")

    def check_single(self, rows: Int64Array, paths: Int64Array) -> None:
        """Attributes declared without `many` have one value."""
        assert self.dictionary.type is not None
        declared = self.dictionary.type.attributes
        names = [".".join(path) for path in self.paths]
        single = np.array([name in declared and not declared[name].many for name in names], bool)[paths]
        pairs, counts = np.unique(rows[single] * len(self.paths) + paths[single], return_counts=True)
        for pair in pairs[counts > 1].tolist():
            row, path = divmod(pair, len(self.paths))
            text = f"attribute {names[path]!r} takes one value, not a list (declare it with `many`)"
            self.fault(np.array([row]), text)


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def from_decimal(values: pa.Array) -> tuple[pa.Array, Mask]:
    """Whole decimals as integers, others as the nearest float; which of them fit."""
    if values.type.scale > 0:
        return values.cast(pa.float64(), safe=False), np.ones(len(values), bool)
    floats = numpy_of(values.cast(pa.float64(), safe=False))
    good = np.abs(floats) < 2.0**63
    return pc.if_else(pa.array(good), values, pa.scalar(0, values.type)).cast(pa.int64()), good
