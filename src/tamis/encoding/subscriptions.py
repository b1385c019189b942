"""`SubscriptionTable`: conjunctions as rows of predicates over keys, in CSR form."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis.encoding.dictionary import Dictionary, exact_name
from tamis.encoding.keys import (
    EXACT,
    KEY_MAX,
    KEY_MIN,
    NUMBER_MAX,
    NUMBER_MIN,
    TRUE,
    Int32Array,
    Int64Array,
    coarse,
    number_key,
)
from tamis.model.predicate import ORDER_OPS, PATTERN_OPS, Op, Predicate
from tamis.model.subscription import Dnf, Literal
from tamis.model.values import Scalar

# Codes of table predicates. With x ranging over the event's values of the attribute (absent: only MISSING holds):
IN = 0  # some x in [lo, hi]
OUT = 1  # some x not in [lo, hi]
NONE = 2  # present, and no x in [lo, hi]
ALL = 3  # present, and every x in [lo, hi]
MISSING = 4  # absent
IN_SET = 5  # some x in sets[lo:hi]
OUT_SET = 6  # some x not in sets[lo:hi]
NONE_SET = 7  # present, and no x in sets[lo:hi]
ALL_SET = 8  # present, and every x in sets[lo:hi]
NEGATED = {IN: NONE, OUT: ALL, IN_SET: NONE_SET, OUT_SET: ALL_SET}
FIRST_SET = IN_SET


@dataclass(frozen=True, slots=True)
class SubscriptionTable:
    """Conjunctions of subscriptions. Conjunction i belongs to `owners[i]` and has predicates offsets[i]:offsets[i+1].

    owners int32[c], offsets int64[c+1]; attrs int32[p], ops uint8[p], lo/hi int64[p]: an interval of keys, or for set
    codes the bounds of a slice of `sets` (int64, ascending within a slice). A subscription may own several conjunctions.
    """

    owners: Int32Array
    offsets: Int64Array
    attrs: Int32Array
    ops: NDArray[np.uint8]
    lo: Int64Array
    hi: Int64Array
    sets: Int64Array
    dictionary: Dictionary

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.owners, self.offsets, self.attrs, self.ops, self.lo, self.hi, self.sets)
        return sum(array.nbytes for array in arrays)

    def take(self, rows: NDArray[np.intp]) -> "SubscriptionTable":
        """The conjunctions at `rows`, in that order; `sets` is shared."""
        counts = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        at = np.repeat(self.offsets[:-1][rows] - offsets[:-1], counts) + np.arange(offsets[-1])
        columns = (self.attrs[at], self.ops[at], self.lo[at], self.hi[at])
        return SubscriptionTable(self.owners[rows], offsets, *columns, self.sets, self.dictionary)

    def without(self, ids: Int32Array) -> "SubscriptionTable":
        """All conjunctions but those of the given subscriptions."""
        return self.take(np.flatnonzero(~np.isin(self.owners, ids)))

    @staticmethod
    def empty(dictionary: Dictionary) -> "SubscriptionTable":
        """No conjunctions at all."""
        return TableBuilder(dictionary).build()

    @staticmethod
    def concat(tables: list["SubscriptionTable"]) -> "SubscriptionTable":
        """Tables over one dictionary, one after the other."""
        lo, hi, offsets, base, rows = [], [], [np.zeros(1, np.int64)], 0, 0
        for table in tables:
            shift = np.where(table.ops >= FIRST_SET, base, 0)
            lo.append(table.lo + shift)
            hi.append(table.hi + shift)
            offsets.append(table.offsets[1:] + rows)
            base, rows = base + len(table.sets), rows + len(table.attrs)
        join = np.concatenate
        owners, attrs, ops = (join([getattr(t, name) for t in tables]) for name in ("owners", "attrs", "ops"))
        sets = join([t.sets for t in tables])
        return SubscriptionTable(owners, join(offsets), attrs, ops, join(lo), join(hi), sets, tables[0].dictionary)


class TableBuilder:
    """Collects conjunctions given as model objects; `bulk.py` is the columnar way in."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self.owners: list[int] = []
        self.offsets = [0]
        self.rows: list[tuple[int, int, int, int]] = []
        self.sets: list[int] = []

    def add(self, owner: int, dnf: Dnf) -> None:
        """All conjunctions of one subscription. Atoms other than predicates are left to the operators."""
        for term in dnf:
            for literal in term:
                if isinstance(literal.atom, Predicate):
                    self._literal(literal, literal.atom)
            self.owners.append(owner)
            self.offsets.append(len(self.rows))

    def build(self) -> SubscriptionTable:
        """The table of everything added so far."""
        columns = np.array(self.rows, np.int64).reshape(-1, 4)
        return SubscriptionTable(
            np.array(self.owners, np.int32),
            np.array(self.offsets, np.int64),
            columns[:, 0].astype(np.int32),
            columns[:, 1].astype(np.uint8),
            columns[:, 2].copy(),
            columns[:, 3].copy(),
            np.array(self.sets, np.int64),
            self.dictionary,
        )

    def _literal(self, literal: Literal, predicate: Predicate) -> None:
        bounds = BOUNDS.get(predicate.op)
        if bounds is not None and all(map(plain_number, predicate.values)):  # most predicates there are
            lo, hi = bounds([number_key(value) for value in predicate.values])  # type: ignore[arg-type]
            code = NONE if literal.negated else IN
            self.rows.append((self.dictionary.attribute(predicate.attribute), code, lo, hi))
            return
        present = (self.dictionary.attribute(predicate.attribute), IN, KEY_MIN, KEY_MAX)
        if predicate.op in (Op.EXISTS, Op.MISSING):
            wanted = (predicate.op is Op.EXISTS) is not literal.negated
            self.rows.append(present if wanted else (present[0], MISSING, 0, 0))
        elif predicate.op is Op.EQ and coarse(predicate.values[0]) and not literal.negated:
            key = self.dictionary.intern(exact_name(predicate.values[0]))  # type: ignore[arg-type]
            self.rows.append((self.dictionary.companion(predicate.attribute), IN, key, key))
        elif undecidable(predicate):
            derived = self.dictionary.derive(predicate)
            if literal.negated:
                self.rows += [present, (derived, MISSING, 0, 0)]
            else:
                self.rows.append((derived, IN, TRUE, TRUE))
        else:
            code, lo, hi = self._interval(predicate)
            self.rows.append((present[0], NEGATED[code] if literal.negated else code, lo, hi))

    def _interval(self, predicate: Predicate) -> tuple[int, int, int]:
        op, values = predicate.op, predicate.values
        if op is Op.IN or op is Op.NOT_IN:
            keys = sorted({self.dictionary.constant(v) for v in values})
            if len(keys) > 1:
                start = len(self.sets)
                self.sets += keys
                return (IN_SET if op is Op.IN else OUT_SET), start, len(self.sets)
            only = keys[0] if keys else 1
            return (IN if op is Op.IN else OUT), only, only if keys else 0
        if op is Op.EQ or op is Op.NE:
            key = self.dictionary.constant(values[0])
            return (IN if op is Op.EQ else OUT), key, key
        if any(isinstance(v, (bool, str)) for v in values):
            return IN, 1, 0  # booleans and mixed kinds are not ordered: nothing lies between them
        bounds = [self.dictionary.constant(v) for v in values]
        return IN, *BOUNDS[op](bounds)


def plain_number(value: Scalar) -> bool:
    """Whether a constant is a number whose key is exact."""
    kind = value.__class__
    return (kind is int or kind is float) and -EXACT < value < EXACT  # type: ignore[operator]


BOUNDS: dict[Op, Callable[[list[int]], tuple[int, int]]] = {
    Op.EQ: lambda b: (b[0], b[0]),
    Op.LT: lambda b: (NUMBER_MIN, b[0] - 1),
    Op.LE: lambda b: (NUMBER_MIN, b[0]),
    Op.GT: lambda b: (b[0] + 1, NUMBER_MAX),
    Op.GE: lambda b: (b[0], NUMBER_MAX),
    Op.BETWEEN: lambda b: (b[0], b[1]),
}


def undecidable(predicate: Predicate) -> bool:
    """Whether keys alone cannot decide the predicate, so that it needs a derived attribute."""
    texts = any(isinstance(v, str) for v in predicate.values)
    if predicate.op in PATTERN_OPS or (predicate.nocase and texts):
        return True
    if predicate.op in ORDER_OPS and texts and all(isinstance(v, str) for v in predicate.values):
        return True
    return any(coarse(v) for v in predicate.values)


def encode_subscriptions(subscriptions: Iterable[tuple[int, Dnf]], dictionary: Dictionary) -> SubscriptionTable:
    """A table of (dense id, normal form) pairs."""
    builder = TableBuilder(dictionary)
    for owner, dnf in subscriptions:
        builder.add(owner, dnf)
    return builder.build()
