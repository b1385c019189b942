"""`siena`: the counting algorithm of Siena's forwarding tables, which paper 004 measures itself against.

A ternary search trie leads from an attribute's name to its constraints: equalities, found by binary search; intervals,
in the order of their starts, read up to the value; the rest, tested one by one. Keys of different types never mix in
these orders, so each type has its own stretch. A constraint shared by many conjunctions is tested once, and a conjunction
whose constraints have all been met matches. Built in batch; a change means building it again, as its authors say.
"""

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.ternary_trie import TernaryTrie, code_points, look_up, new_trie
from tamis.candidates.verify import conjunction_holds, gather, scatter
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import IN, MISSING, SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options
from tamis.predicates.holds import predicate_holds

EQUAL, RANGE, REST = range(3)


class Constraints(NamedTuple):
    """Distinct predicates other than MISSING, by attribute, class and `lo`: `op` uint8, `lo`, `hi` int64 (as in a table).
    `part` int64[attributes, 4]: where an attribute's equalities, intervals and the rest begin, and where they end.
    Constraint i is asked by the conjunctions asked[first[i]:first[i+1]] (int32); `needed` int32[conjunctions]: how many
    constraints a conjunction has; `absent` bool: whether it asks for absence too."""

    op: NDArray[np.uint8]
    lo: Int64Array
    hi: Int64Array
    part: Int64Array
    first: Int64Array
    asked: Int32Array
    needed: Int32Array
    absent: NDArray[np.bool_]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)


class SienaEngine:
    """The table, the trie of names, and the constraints."""

    capabilities: ClassVar = Capabilities(
        "counts satisfied constraints, found by name and type", "Siena, as in paper 004", incremental=False
    )
    options_type: ClassVar = Options

    def __init__(self, table: SubscriptionTable) -> None:
        self.table = table
        self.chars, self.offsets = code_points(names(table.dictionary))
        self.trie = new_trie(self.chars, self.offsets)
        self.constraints = constraints(table, len(table.dictionary))
        self.events = self.matches = 0
        self.work = np.zeros(3, np.int64)

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """All at once."""
        return cls(subscriptions)

    def match(self, events: EventBatch) -> MatchSet:
        """Count."""
        t = self.table
        unconstrained = np.flatnonzero(self.constraints.needed == 0)
        columns = (t.owners, t.offsets, t.attrs, t.ops, t.lo, t.hi, t.sets)
        given = (events.offsets, events.attrs, events.keys)
        highest = int(t.owners.max(initial=-1)) + 1
        found = count(self.trie, self.chars, self.offsets, self.constraints, unconstrained, *columns, *given, highest)
        self.events += len(events)
        self.matches += len(found[1])
        self.work += found[2]
        return MatchSet(found[0], found[1])

    def stats(self) -> EngineStats:
        """Constraints shared, and the work of counting. A candidate is a conjunction with all constraints met."""
        t = self.table
        details = {
            "constraints": len(self.constraints.op),
            "trie_nodes": len(self.trie.char),
            "constraints_met": int(self.work[0]),
            "counts": int(self.work[1]),
        }
        held = t.nbytes + self.trie.nbytes + self.chars.nbytes + self.offsets.nbytes + self.constraints.nbytes
        owners = len(np.unique(t.owners))
        return EngineStats(owners, len(t), held, self.events, int(self.work[2]), self.matches, details)


def names(dictionary: Dictionary) -> list[str]:
    """A name for each attribute: the user's, or for a derived attribute one no other attribute has."""
    return [f"={n}" if dictionary.ids.get(n) == a else f"~{a} {n}" for a, n in enumerate(dictionary.names)]


def constraints(table: SubscriptionTable, attributes: int) -> Constraints:
    """The distinct constraints of a table, and who asks them."""
    conjunction = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    kept = np.flatnonzero(table.ops != MISSING)
    op, lo, hi, attr = table.ops[kept], table.lo[kept], table.hi[kept], table.attrs[kept]
    group = np.where(op != IN, REST, np.where(lo == hi, EQUAL, RANGE))
    order = np.lexsort((conjunction[kept], hi, op, lo, group, attr))
    op, lo, hi, attr, group = op[order], lo[order], hi[order], attr[order], group[order]
    asked = conjunction[kept][order].astype(np.int32)
    new = np.ones(len(order), bool)
    new[1:] = (op[1:] != op[:-1]) | (lo[1:] != lo[:-1]) | (hi[1:] != hi[:-1]) | (attr[1:] != attr[:-1])
    twice = np.zeros(len(order), bool)
    twice[1:] = ~new[1:] & (asked[1:] == asked[:-1])
    number = np.cumsum(new) - 1
    number, asked = number[~twice], asked[~twice]
    total = int(new.sum())
    first = np.searchsorted(number, np.arange(total + 1)).astype(np.int64)
    parts = np.searchsorted(attr[new].astype(np.int64) * 3 + group[new], np.arange(3 * attributes + 1))
    part = parts[np.arange(attributes)[:, None] * 3 + np.arange(4)].astype(np.int64)
    needed = np.bincount(asked, minlength=len(table)).astype(np.int32)
    absent = np.zeros(len(table), bool)
    absent[conjunction[table.ops == MISSING]] = True
    return Constraints(op[new], lo[new], hi[new], part, first, asked, needed, absent)


@leaf
def meet(
    k: Constraints, i: int, e: int, met: Int32Array, counted: Int32Array, counts: Int32Array, full: Int32Array, n: int
) -> int:
    """Count constraint i, met by event e, for all that ask it; appends complete conjunctions to full[n:]; returns new n.

    `met` int32[constraints], `counted` int32[conjunctions]: the last event + 1 that wrote; `counts` int32[conjunctions]."""
    if met[i] == e + 1:
        return n
    met[i] = e + 1
    for j in range(k.first[i], k.first[i + 1]):
        c = k.asked[j]
        if counted[c] != e + 1:
            counted[c] = e + 1
            counts[c] = 0
        counts[c] += 1
        if counts[c] == k.needed[c]:
            full[n] = c
            n += 1
    return n


@kernel
def count(
    trie: TernaryTrie,
    chars: Int32Array,
    name_offsets: Int64Array,
    k: Constraints,
    unconstrained: Int64Array,
    owners: Int32Array,
    offsets: Int64Array,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    sets: Int64Array,
    event_offsets: Int64Array,
    event_attrs: Int32Array,
    event_keys: Int64Array,
    highest: int,
) -> tuple[Int64Array, Int32Array, Int64Array]:
    """All events. Returns CSR (offsets int64[n+1], owners int32[m]) and the work done: int64[3] constraints met, counts
    raised, conjunctions complete. Reads only."""
    attributes = len(name_offsets) - 1
    begin, end = np.zeros(attributes, np.int32), np.zeros(attributes, np.int32)
    last_event = np.full(highest, -1, np.int64)
    met, counted = np.zeros(len(k.op), np.int32), np.zeros(len(owners), np.int32)
    counts, full = np.empty(len(owners), np.int32), np.empty(len(owners), np.int32)
    out, n = np.empty(1024, np.int32), 0
    out_offsets = np.zeros(len(event_offsets), np.int64)
    work = np.zeros(3, np.int64)
    full[: len(unconstrained)] = unconstrained
    for e in range(len(event_offsets) - 1):
        first, last = event_offsets[e], event_offsets[e + 1]
        scatter(event_attrs, first, last, begin, end)
        complete = len(unconstrained)
        for at in range(first, last):
            a = event_attrs[at]
            if a >= attributes:
                continue
            index = look_up(trie, chars, name_offsets[a], name_offsets[a + 1])
            key = event_keys[at]
            i, stop = k.part[index, EQUAL], k.part[index, RANGE]
            while i < stop:  # the only equality that can hold, by binary search
                middle = (i + stop) >> 1
                if k.lo[middle] < key:
                    i = middle + 1
                else:
                    stop = middle
            if i < k.part[index, RANGE] and k.lo[i] == key:
                work[0] += 1
                work[1] += k.first[i + 1] - k.first[i]
                complete = meet(k, i, e, met, counted, counts, full, complete)
            for i in range(k.part[index, RANGE], k.part[index, REST]):
                if k.lo[i] > key:
                    break
                if key <= k.hi[i]:
                    work[0] += 1
                    work[1] += k.first[i + 1] - k.first[i]
                    complete = meet(k, i, e, met, counted, counts, full, complete)
            if at == begin[a]:  # these look at all values together
                for i in range(k.part[index, REST], k.part[index, REST + 1]):
                    if predicate_holds(k.op[i], k.lo[i], k.hi[i], sets, event_keys, begin[a], end[a]):
                        work[0] += 1
                        work[1] += k.first[i + 1] - k.first[i]
                        complete = meet(k, i, e, met, counted, counts, full, complete)
        work[2] += complete
        for i in range(complete):
            c = full[i]
            owner = owners[c]
            if last_event[owner] != e and (
                not k.absent[c]
                or conjunction_holds(offsets[c], offsets[c + 1], attrs, ops, lo, hi, sets, event_keys, begin, end)
            ):
                last_event[owner] = e
                out = grown(out, n + 1)
                out[n] = owner
                n += 1
        gather(event_attrs, first, last, begin, end)
        out_offsets[e + 1] = n
    return out_offsets, out[:n].copy(), work
