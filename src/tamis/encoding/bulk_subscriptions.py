"""Subscriptions in bulk: one Arrow row per predicate → `SubscriptionTable`, with no Python per row.

Columns (all but the first two may be missing or null):

    subscription  int      dense id of the owner
    conjunction   int      which conjunction of the owner's normal form the predicate belongs to
    attribute     string   null together with the operator: the conjunction has no predicate here (alone: it always holds)
    operator      string   as spelt in the language
    negated, nocase        bool
    integer, float, string, bool                          the constant, in the column of its kind
    upper_integer, upper_float, upper_string, upper_bool  the second bound of `between`
    integers, floats, strings, bools                      lists for `in` and `not in`

What keys decide is computed column by column; predicates that need a derived attribute are made once per distinct one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamis.encoding.columns import (
    Mask,
    changes,
    coarse_rows,
    column_codes,
    factorise,
    finite,
    flat,
    numpy_of,
    one_chunk,
    parents,
    present,
    to_mask,
)
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import (
    FALSE,
    KEY_MAX,
    KEY_MIN,
    NUMBER_MAX,
    NUMBER_MIN,
    TRUE,
    Int32Array,
    Int64Array,
    number_keys,
)
from tamis.encoding.subscriptions import (
    IN,
    IN_SET,
    MISSING,
    NEGATED,
    OUT,
    OUT_SET,
    SubscriptionTable,
    TableBuilder,
)
from tamis.errors import DataError, nearest
from tamis.model.check import complaint
from tamis.model.predicate import ORDER_OPS, PATTERN_OPS, PRESENCE_OPS, Op, Predicate
from tamis.model.subscription import Literal
from tamis.model.values import Scalar

SCALARS = {"integer": pa.int64(), "float": pa.float64(), "string": pa.large_string(), "bool": pa.bool_()}
UPPERS = {f"upper_{kind}": type for kind, type in SCALARS.items()}
LISTS = {f"{kind}s": pa.large_list(type) for kind, type in SCALARS.items()}
PREDICATE_SCHEMA = pa.schema(
    {
        "subscription": pa.int32(),
        "conjunction": pa.int32(),
        "attribute": pa.large_string(),
        "operator": pa.large_string(),
        "negated": pa.bool_(),
        "nocase": pa.bool_(),
        **SCALARS,
        **UPPERS,
        **LISTS,
    }
)
OPS = list(Op)
NO_OP, UNKNOWN_OP = -1, -2
CODE = {op: i for i, op in enumerate(OPS)}
NEGATE = np.arange(9, dtype=np.uint8)
NEGATE[list(NEGATED)] = list(NEGATED.values())


def encode_predicates(rows: pa.Table, dictionary: Dictionary) -> SubscriptionTable:
    """The table of the predicates; conjunctions come out by owner and number, their predicates as given. A DataError names
    the first bad row."""
    given = Rows.read(rows)
    faults = given.faults()
    for row in sorted(faults):
        raise DataError(f"predicate row {row}: {faults[row]}")
    return given.encode(dictionary)


def predicate_faults(rows: pa.Table) -> dict[int, str]:
    """Row → what is wrong with it, for every bad row."""
    return Rows.read(rows).faults()


@dataclass
class Rows:
    """The columns of a predicate table, in order of owner and conjunction, as arrays."""

    columns: dict[str, pa.Array]
    order: NDArray[np.intp]
    owners: Int64Array
    conjunctions: Int64Array
    ops: Int64Array
    negated: Mask
    nocase: Mask

    @staticmethod
    def read(table: pa.Table) -> "Rows":
        """Cast and order; `order` says where each row stood."""
        table = conform(table)
        owners, numbers = (table.column(name).to_numpy() for name in ("subscription", "conjunction"))
        order = np.lexsort((numbers, owners))
        if not np.array_equal(order, np.arange(len(order))):
            table = table.take(order)
        columns = {name: one_chunk(table.column(name)) for name in PREDICATE_SCHEMA.names}
        flags = (to_mask(columns["negated"]), to_mask(columns["nocase"]))
        return Rows(columns, order, owners[order], numbers[order], operator_codes(columns["operator"]), *flags)

    def present(self, name: str) -> Mask:
        """Which rows have a value in a column."""
        return present(self.columns[name])

    def of(self, *ops: Op) -> Mask:
        """Which rows have one of the operators."""
        return np.isin(self.ops, [CODE[op] for op in ops])

    def faults(self) -> dict[int, str]:
        """Given row → the first thing wrong with it: operators have the operands they need, floats are finite."""
        scalars = sum(self.present(name).astype(np.int8) for name in SCALARS)
        uppers = sum(self.present(name).astype(np.int8) for name in UPPERS)
        lists = np.any([self.present(name) for name in LISTS], axis=0)
        among, presence = self.of(Op.IN, Op.NOT_IN), self.of(*PRESENCE_OPS)
        empty, between = self.ops == NO_OP, self.of(Op.BETWEEN)
        attribute = self.present("attribute")
        faults = [
            *self.unknown_operators(),
            (attribute == empty, "attribute and operator go together: give both or neither"),
            (among & ~lists, "in and not in need a list of values"),
            (~among & ~presence & ~empty & (scalars != 1), "the operator needs exactly one value"),
            (between & (uppers != 1), "between needs exactly one upper bound"),
            (self.of(*PATTERN_OPS) & ~self.present("string"), "a pattern is a string"),
        ]
        faults += [
            (self.present(name) & ~finite(self.columns[name]), f"{name} is not a finite number")
            for name in ("float", "upper_float")
        ]
        for name in LISTS:
            values, bad = self.columns[name], np.zeros(len(self.ops), bool)
            bad[parents(values)[~finite(flat(values))]] = True
            faults.append((bad, f"{name} has a null or a number that is not finite"))
        found: dict[int, str] = {}
        for wrong, message in (*faults, *self.bad_patterns()):
            for row in self.order[wrong].tolist():
                found.setdefault(row, message)
        return found

    def unknown_operators(self) -> list[tuple[Mask, str]]:
        """Rows whose operator is not in the language."""
        known = [op.value for op in OPS]
        spelt, which = factorise(self.columns["operator"])
        unknown = [(i, text) for i, text in enumerate(spelt) if text not in known]
        return [(which == i, f"there is no operator {text!r}{nearest(text, known)}") for i, text in unknown]

    def bad_patterns(self) -> list[tuple[Mask, str]]:
        """Rows whose regular expression RE2 refuses; each distinct one is tried once."""
        rows = np.flatnonzero(self.of(Op.MATCHES) & self.present("string"))
        found = []
        patterns, which = factorise(self.columns["string"].take(pa.array(rows)))
        for i in np.unique(which).tolist():
            problem = complaint(Predicate("x", Op.MATCHES, (patterns[i],)))
            if problem is not None:
                wrong = np.zeros(len(self.ops), bool)
                wrong[rows[which == i]] = True
                found.append((wrong, problem.message))
        return found

    def encode(self, dictionary: Dictionary) -> SubscriptionTable:
        """Keys and codes for all rows, derived attributes per distinct predicate."""
        attrs = attribute_ids(self.columns["attribute"], dictionary)
        hard, companion = self.undecidable()
        easy = ~hard & ~companion & (self.ops >= 0)
        codes = np.zeros(len(attrs), np.uint8)
        lo, hi = np.zeros(len(attrs), np.int64), np.zeros(len(attrs), np.int64)
        sets = self.members(easy, codes, lo, hi, dictionary)
        self.compare(easy, codes, lo, hi, dictionary)
        codes[easy & self.negated] = NEGATE[codes[easy & self.negated]]
        self.presence(codes, lo, hi)
        counts = (self.ops >= 0).astype(np.int64)
        special = np.flatnonzero(hard | companion)
        made, which = self.distinct(special, dictionary)
        counts[special] = np.diff(made.offsets)[which]
        ends = np.cumsum(counts)
        columns: tuple[Any, ...] = tuple(np.repeat(column, counts) for column in (attrs, codes, lo, hi))
        at = np.repeat(ends[special] - counts[special], counts[special])
        inside = np.arange(len(at)) - np.repeat(np.cumsum(counts[special]) - counts[special], counts[special])
        source = np.repeat(made.offsets[:-1][which], counts[special]) + inside
        of_made: tuple[Any, ...] = (made.attrs, made.ops, made.lo, made.hi)
        for column, values in zip(columns, of_made, strict=True):
            column[at + inside] = values[source]
        first = np.flatnonzero(changes(self.owners, self.conjunctions))
        offsets = np.concatenate([ends[first] - counts[first], [ends[-1] if len(ends) else 0]]).astype(np.int64)
        out_attrs, out_ops, out_lo, out_hi = columns
        owners = self.owners[first].astype(np.int32)
        return SubscriptionTable(owners, offsets, out_attrs, out_ops, out_lo, out_hi, sets, dictionary)

    def undecidable(self) -> tuple[Mask, Mask]:
        """Rows that need a derived attribute, and equalities on huge numbers, which use the companion."""
        huge = coarse_rows(self.columns["integer"]) | coarse_rows(self.columns["float"])
        equal = self.of(Op.EQ) & huge & ~self.negated
        huge |= coarse_rows(self.columns["upper_integer"]) | coarse_rows(self.columns["upper_float"])
        text, upper = self.present("string"), self.present("upper_string")
        texts = text | upper
        for name in ("integers", "floats"):
            huge[parents(self.columns[name])[coarse_rows(flat(self.columns[name]))]] = True
        texts[parents(self.columns["strings"])] = True
        hard = self.of(*PATTERN_OPS) | (self.nocase & texts) | huge
        hard |= self.of(*ORDER_OPS) & text & (upper | ~self.of(Op.BETWEEN))
        return hard & ~equal & ~self.of(*PRESENCE_OPS) & (self.ops >= 0), equal

    def compare(self, easy: Mask, codes: NDArray[np.uint8], lo: Int64Array, hi: Int64Array, d: Dictionary) -> None:
        """Fill in all comparisons with one constant, and `between`."""
        equality = easy & self.of(Op.EQ, Op.NE)
        order = easy & self.of(*ORDER_OPS)
        key = self.keys("", easy & ~self.of(Op.IN, Op.NOT_IN), equality, d)
        codes[equality & self.of(Op.NE)] = OUT
        lo[equality] = hi[equality] = key[equality]
        number = self.present("integer") | self.present("float")
        between = self.of(Op.BETWEEN)
        number &= ~between | self.present("upper_integer") | self.present("upper_float")
        lo[order], hi[order] = 1, 0  # booleans and mixed kinds are not ordered: nothing lies between them
        order &= number
        lo[order], hi[order] = NUMBER_MIN, NUMBER_MAX
        below, at_most = order & self.of(Op.LT), order & self.of(Op.LE)
        above, at_least = order & self.of(Op.GT), order & self.of(Op.GE)
        hi[below], hi[at_most] = key[below] - 1, key[at_most]
        lo[above], lo[at_least] = key[above] + 1, key[at_least]
        between &= order
        lo[between], hi[between] = key[between], self.keys("upper_", between, between, d)[between]

    def keys(self, prefix: str, wanted: Mask, interned: Mask, dictionary: Dictionary) -> Int64Array:
        """Keys of the constants in the columns with this prefix; strings only where they are to be interned."""
        key = np.zeros(len(wanted), np.int64)
        for kind in SCALARS:
            if prefix + kind in self.columns:
                mask = (interned if kind == "string" else wanted) & self.present(prefix + kind)
                key[mask] = constant_keys(self.columns[prefix + kind].filter(pa.array(mask)), dictionary)
        return key

    def members(
        self, easy: Mask, codes: NDArray[np.uint8], lo: Int64Array, hi: Int64Array, dictionary: Dictionary
    ) -> Int64Array:
        """Fill in `in` and `not in`; returns the members of all sets, ascending within each."""
        among = easy & self.of(Op.IN, Op.NOT_IN)
        rows, keys = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for name in LISTS:
            owner = parents(self.columns[name])
            kept = among[owner]
            rows.append(owner[kept])
            keys.append(constant_keys(flat(self.columns[name]).filter(pa.array(kept)), dictionary))
        row, key = np.concatenate(rows), np.concatenate(keys)
        order = np.lexsort((key, row))
        row, key = row[order], key[order]
        fresh = changes(row, key)
        row, key = row[fresh], key[fresh]
        size = np.bincount(row, minlength=len(among)) if len(row) else np.zeros(len(among), np.int64)
        outside = self.of(Op.NOT_IN)
        codes[among] = np.where(size > 1, np.where(outside, OUT_SET, IN_SET), np.where(outside, OUT, IN))[among]
        none, single, several = among & (size == 0), among & (size == 1), among & (size > 1)
        lo[none], hi[none] = 1, 0
        lo[single] = hi[single] = key[single[row]]
        sets = key[several[row]]
        ends = np.cumsum(size[several])
        lo[several], hi[several] = ends - size[several], ends
        return sets

    def presence(self, codes: NDArray[np.uint8], lo: Int64Array, hi: Int64Array) -> None:
        """Fill in `exists` and `missing`."""
        exists, missing = self.of(Op.EXISTS), self.of(Op.MISSING)
        present, absent = np.where(self.negated, missing, exists), np.where(self.negated, exists, missing)
        codes[present], lo[present], hi[present] = IN, KEY_MIN, KEY_MAX
        codes[absent], lo[absent], hi[absent] = MISSING, 0, 0

    def distinct(self, rows: NDArray[np.intp], dictionary: Dictionary) -> tuple[SubscriptionTable, NDArray[np.intp]]:
        """A table with one conjunction per distinct predicate among `rows`, and which of them each row is."""
        taken = {name: column.take(pa.array(rows)) for name, column in self.columns.items()}
        codes = [column_codes(taken[name]) for name in PREDICATE_SCHEMA.names[2:]]
        builder = TableBuilder(dictionary)
        if not len(rows):
            return builder.build(), rows
        _, first, which = np.unique(np.column_stack(codes), axis=0, return_index=True, return_inverse=True)
        found = pa.table(taken).take(first).to_pylist()
        for row in found:
            builder.add(0, ((Literal(predicate_of(row), bool(row["negated"])),),))
        return builder.build(), which.reshape(-1)


def predicate_of(row: dict[str, Any]) -> Predicate:
    """One row of a predicate table as a model object."""
    values: tuple[Scalar, ...] = tuple(row[name] for name in (*SCALARS, *UPPERS) if row.get(name) is not None)
    for name in LISTS:
        values += tuple(row.get(name) or ())
    return Predicate(row["attribute"], Op(row["operator"]), values, bool(row["nocase"]))


def conform(table: pa.Table) -> pa.Table:
    """The table with the columns of the schema and no others; missing ones are null."""
    unknown = [name for name in table.column_names if name not in PREDICATE_SCHEMA.names]
    if unknown:
        raise DataError(f"unknown predicate column {unknown[0]!r}{nearest(unknown[0], PREDICATE_SCHEMA.names)}")
    columns = []
    for field in PREDICATE_SCHEMA:
        if field.name in table.column_names:
            try:
                columns.append(table.column(field.name).cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
                raise DataError(f"predicate column {field.name!r}: {problem}") from problem
        elif field.name in ("subscription", "attribute", "operator"):
            raise DataError(f"the predicate table has no column {field.name!r}")
        else:
            zero = pa.scalar(0 if field.name == "conjunction" else None, field.type)
            columns.append(pa.repeat(zero, len(table)))
    for i, name in enumerate(("subscription", "conjunction")):
        if columns[i].null_count:
            raise DataError(f"predicate column {name!r} has a null in row {int(np.argmin(columns[i].is_valid()))}")
    return pa.table(columns, schema=PREDICATE_SCHEMA)


def operator_codes(column: pa.Array) -> Int64Array:
    """Positions in `OPS`; NO_OP for null, UNKNOWN_OP for what is not in the language."""
    spelt, which = factorise(column)
    known = {op.value: i for op, i in CODE.items()}
    codes: Int64Array = np.array([*(known.get(text, UNKNOWN_OP) for text in spelt), NO_OP], np.int64)[which]
    return codes


def attribute_ids(column: pa.Array, dictionary: Dictionary) -> Int32Array:
    """Attribute ids per row, made when new; 0 where the row has none."""
    names, which = factorise(column)
    ids: Int32Array = np.array([*map(dictionary.attribute, names), 0], np.int32)[which]
    return ids


def constant_keys(column: pa.Array, dictionary: Dictionary) -> Int64Array:
    """Keys of a column of constants without nulls, interning strings."""
    if pa.types.is_boolean(column.type):
        return np.where(to_mask(column), TRUE, FALSE)
    if pa.types.is_large_string(column.type):
        texts, which = factorise(column)
        keys: Int64Array = np.array([*map(dictionary.intern, texts), 0], np.int64)[which]
        return keys
    return number_keys(numpy_of(column))
