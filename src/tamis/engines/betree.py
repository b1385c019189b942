"""`betree`: BE-Tree, the index paper 004 measures itself against: two-phase cutting of a space with finite domains.

A domain comes from the publication type (`int[lo..hi]`) or else from the constants seen, widened as constants fall outside
it: when more than a tenth of the conjunctions do, the tree is rebuilt over the wider range. Values outside a domain count
as its nearest end, so answers never depend on it. `stats()` says how many domains were guessed, and how many rebuilds.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.ordered import float_of
from tamis.candidates.cutting import nodes
from tamis.candidates.cutting.change import insert_all, remove_all
from tamis.candidates.cutting.cut import pour, settle
from tamis.candidates.cutting.domains import CELLS, Domains
from tamis.candidates.cutting.search import search
from tamis.candidates.rows import Columns, Rows, arranged, longer
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, UNKNOWN_STRING, Int32Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options
from tamis.errors import EngineError
from tamis.model.schema import IntDomain
from tamis.predicates.cover import cover

SMALL = 32  # up to so many conjunctions each change cuts the tree anew, so that its form depends on nothing but them


@dataclass(frozen=True, slots=True)
class BetreeOptions(Options):
    """`leaf_capacity`: rows a bucket holds before it is cut. `visit_cost`: rows a partition must take out of a bucket to
    be worth a further visit."""

    leaf_capacity: int = 24
    visit_cost: int = 4

    def __post_init__(self) -> None:
        for name, least in (("leaf_capacity", 1), ("visit_cost", nodes.WORTH)):
            if getattr(self, name) < least:
                raise EngineError(f"engine 'betree': {name} = {getattr(self, name)} must be at least {least}")


class Bounds:
    """Per attribute the range of constants: declared by the type, or seen so far; `lo` > `hi` means none yet."""

    def __init__(self) -> None:
        self.lo = np.empty(0, np.float64)
        self.hi = np.empty(0, np.float64)
        self.texts = np.empty(0, np.bool_)
        self.declared = np.empty(0, np.bool_)

    def reach(self, attributes: int, dictionary: Dictionary) -> None:
        """Cover attribute ids below `attributes`."""
        known = len(self.lo)
        if attributes <= known:
            return
        self.lo, self.hi = longer(self.lo, attributes, np.inf), longer(self.hi, attributes, -np.inf)
        self.texts, self.declared = longer(self.texts, attributes, True), longer(self.declared, attributes, False)
        for a in range(known, min(len(self.lo), len(dictionary))):
            domain = dictionary.domain(a)
            if isinstance(domain, IntDomain) and domain.finite:
                self.lo[a], self.hi[a] = domain.lo, domain.hi
                self.texts[a], self.declared[a] = False, True

    def domains(self) -> Domains:
        """Cells over the ranges."""
        width = self.hi - self.lo
        known = (width > 0) & np.isfinite(width)  # a single constant is one cell, and so is nearly all there is
        base = np.where(known, self.lo, 0.0)
        with np.errstate(over="ignore"):
            scale = np.divide(CELLS, width, out=np.zeros(len(width)), where=known)
        return Domains(self.texts.copy(), base, scale)

    def widen(self, was: "Bounds") -> None:
        """Go as far again beyond an end that moved, so that steady growth causes few rebuilds."""
        moved = (was.lo <= was.hi) & ~self.declared[: len(was.lo)]
        lo, hi = self.lo[: len(was.lo)], self.hi[: len(was.hi)]
        step = np.where(moved, hi - lo, 0.0)
        lo -= np.where(moved & (lo < was.lo), step, 0.0)
        hi += np.where(moved & (hi > was.hi), step, 0.0)

    def forget(self) -> None:
        """Keep declared ranges only."""
        self.lo[~self.declared], self.hi[~self.declared] = np.inf, -np.inf
        self.texts[~self.declared] = True

    def copy(self) -> "Bounds":
        """Arrays of its own."""
        other = Bounds()
        other.lo, other.hi = self.lo.copy(), self.hi.copy()
        other.texts, other.declared = self.texts.copy(), self.declared.copy()
        return other


class BetreeEngine:
    """Rows in a tree of cuts."""

    capabilities: ClassVar = Capabilities("two-phase cutting of the attribute space", "BE-Tree, as in paper 004")
    options_type: ClassVar = BetreeOptions

    def __init__(self, options: BetreeOptions) -> None:
        self.capacity, self.worth = options.leaf_capacity, options.visit_cost
        self.rows = Rows()
        self.leading = np.empty(0, np.int32)
        self.bounds = Bounds()
        self.domains = self.bounds.domains()
        self.tree = nodes.new_cuts(self.capacity)
        self.outside = self.rebuilds = 0
        self.events = self.matches = self.visited = self.checked = 0

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: BetreeOptions) -> Self:
        """Cut from the top, with all conjunctions at hand."""
        engine = cls(options)
        engine._store(subscriptions)
        engine._measure_anew()
        engine._cut_anew()
        return engine

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """Descend and cut what overflows; or rebuild, if too many constants lie outside the domains."""
        rows = self._store(subscriptions)
        if self.rows.live <= SMALL:
            self._measure_anew()
            self._cut_anew()
            return
        b = self.bounds.copy()
        self.outside += measure(self.rows.columns, rows, b.lo, b.hi, b.texts, b.declared)
        if self.outside > self.rows.live // 10:
            b.widen(self.bounds)
            self.bounds, self.outside = b, 0
            self.rebuilds += 1
            self._cut_anew()
            return
        if len(self.domains.texts) < len(b.lo):
            self.domains = self.bounds.domains()
        done = 0
        fixed = (self.rows.columns, self.leading, self.domains, rows)
        while True:
            done, short = insert_all(self.tree, *fixed, done, self.capacity, self.worth)
            if done == len(rows) and not short:
                return
            self.tree = nodes.enlarged(self.tree, max(short, 1))

    def remove(self, ids: Int32Array) -> None:
        """Take out, and collapse what has shrunk."""
        rows = self.rows.drop(ids)
        if self.rows.live <= SMALL:
            self._measure_anew()
            self._cut_anew()
            return
        done = remove_all(self.tree, rows, 0, self.capacity)
        while done < len(rows):
            self.tree = nodes.enlarged(self.tree, self.capacity)
            done = remove_all(self.tree, rows, done, self.capacity)

    def match(self, events: EventBatch) -> MatchSet:
        """Visit the partitions of the event's attributes and the halves its values touch."""
        given = (events.offsets, events.attrs, events.keys)
        offsets, ids, work = search(self.tree, self.rows.columns, self.domains, *given, self.rows.repeating)
        self.events += len(events)
        self.matches += len(ids)
        self.visited += int(work[0])
        self.checked += int(work[1])
        return MatchSet(offsets, ids)

    def stats(self) -> EngineStats:
        """Nodes (each with a bucket), the work done, and where the domains come from."""
        details = {
            "nodes": int(self.tree.top[nodes.LIVE]),
            "nodes_visited": self.visited,
            "domains_declared": int(self.bounds.declared.sum()),
            "domains_from_constants": int((~self.bounds.declared & (self.bounds.lo <= self.bounds.hi)).sum()),
            "domain_rebuilds": self.rebuilds,
        }
        held = self.rows.nbytes + self.tree.nbytes + self.leading.nbytes
        return EngineStats(self.rows.owners, self.rows.live, held, self.events, self.checked, self.matches, details)

    def _store(self, table: SubscriptionTable) -> Int32Array:
        needed = int(table.attrs.max(initial=-1)) + 1
        ordered, leading = arranged(table, np.arange(needed, dtype=np.int64), absence=False)
        rows = self.rows.add(ordered)
        self.leading = longer(self.leading, self.rows.used)
        self.leading[rows] = leading
        self.tree = nodes.with_rows(self.tree, self.rows.used)
        self.bounds.reach(needed, table.dictionary)
        return rows

    def _measure_anew(self) -> None:
        b = self.bounds
        b.forget()
        measure(self.rows.columns, self.rows.live_rows(), b.lo, b.hi, b.texts, b.declared)
        self.outside = 0

    def _cut_anew(self) -> None:
        rows = self.rows.live_rows()
        self.domains = self.bounds.domains()
        self.tree = nodes.enlarged(nodes.with_rows(nodes.new_cuts(self.capacity), self.rows.used), len(rows))
        pour(self.tree, rows)
        while short := settle(self.tree, self.rows.columns, self.leading, self.domains, self.capacity, self.worth):
            self.tree = nodes.enlarged(self.tree, short)


@kernel
def measure(
    c: Columns,
    rows: Int32Array,
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    texts: NDArray[np.bool_],
    declared: NDArray[np.bool_],
) -> int:
    """Widen lo/hi float64[attributes] by the constants of the rows, and note in `texts` whether all are strings.

    Returns how many rows had a constant outside the ranges as they were; declared ranges stay."""
    outside = 0
    for row in rows:
        beyond = False
        for p in range(c.first[row], c.last[row]):
            a = c.attrs[p]
            if declared[a]:
                continue
            for key in cover(a, p, p + 1, c.attrs, c.ops, c.lo, c.hi, c.sets):
                if NUMBER_MIN < key < NUMBER_MAX:
                    x = float_of(key)
                    if texts[a]:  # numbers are cut, strings beside them count as the last cell
                        texts[a] = False
                        lo[a], hi[a] = np.inf, -np.inf
                elif texts[a] and UNKNOWN_STRING < key <= UNKNOWN_STRING + 2**31:
                    x = float(key - UNKNOWN_STRING)
                else:
                    continue
                beyond |= not lo[a] <= x <= hi[a]
                lo[a], hi[a] = min(lo[a], x), max(hi[a], x)
        outside += beyond
    return outside
