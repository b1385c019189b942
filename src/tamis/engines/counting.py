"""`counting`: a conjunction matches when as many of its predicates are satisfied as it has (TOPSS, section 3.3).

`association` says how predicates lead to conjunctions (`lists`, `bitmatrix`, `matrix`: `candidates/counting.py`), `index` how
predicates are found (`table`, `list`, `sorted`: `predicates/stage.py`); all combinations exist.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tamis.arrays.bits import has_bit
from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.candidates.conjunctions import Conjunctions
from tamis.candidates.counting import (
    LIMIT,
    Association,
    ListAssociation,
    MatrixAssociation,
    Tally,
    count,
    new_tally,
    reached,
)
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Capabilities, Options
from tamis.engines.twostage import Stamps, TwoStage, check_index, emit, one_of
from tamis.predicates.stage import Indexes, Work, clear, satisfy

ASSOCIATIONS = ("lists", "bitmatrix", "matrix")


@dataclass(frozen=True, slots=True)
class CountingOptions(Options):
    """`max_bytes` bounds a matrix; a larger one is refused."""

    association: str = "lists"
    index: str = "table"
    max_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        one_of("counting", "association", self.association, ASSOCIATIONS)
        check_index("counting", self.index)


class CountingEngine(TwoStage):
    """Counts satisfied predicates by conjunction."""

    capabilities: ClassVar = Capabilities(
        "counts the satisfied predicates of each conjunction", "TOPSS; Yan & Garcia-Molina"
    )
    options_type: ClassVar = CountingOptions

    def __init__(self, dictionary: Dictionary, options: CountingOptions) -> None:
        super().__init__(dictionary, options.index)
        self.options = options
        bits = options.association == "bitmatrix"
        self.association: ListAssociation | MatrixAssociation = (
            ListAssociation() if options.association == "lists" else MatrixAssociation(options.max_bytes, bits)
        )
        self.tally = new_tally()
        self.always = np.zeros(0, np.int32)  # conjunctions without predicates

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """An empty engine that then takes everything in."""
        assert isinstance(options, CountingOptions)
        engine = cls(subscriptions.dictionary, options)
        engine.insert(subscriptions)
        return engine

    def admit(self, conjunctions: int) -> None:
        """A matrix may not exceed its bound."""
        if isinstance(self.association, MatrixAssociation):
            self.association.check((self.stage.registry.made, conjunctions))

    def place(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Associate, and note how many hits each conjunction needs."""
        self.tally = reached(self.tally, self.store.made)
        sizes = np.diff(offsets)
        self.tally.goal[ids] = np.minimum(sizes, LIMIT)
        self.always = np.concatenate([self.always, ids[sizes == 0]])
        self.association.add(ids, offsets, predicates, (self.stage.registry.made, self.store.made))

    def displace(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Undo `place`."""
        self.association.remove(ids, offsets, predicates)
        self.tally.goal[ids] = 0
        if len(self.always):
            self.always = np.setdiff1d(self.always, ids)

    def run(self, events: EventBatch) -> tuple[Int64Array, Int32Array, int]:
        """The outer kernel."""
        state = (self.association.association(), self.stage.indexes(), self.stage.prepare(events), self.tally)
        scratch = (self.store.columns, self.stamps, self.always)
        return match_counting(*state, *scratch, events.offsets, events.attrs, events.keys)

    def structure_bytes(self) -> int:
        """Association and vectors."""
        return self.association.nbytes + sum(column.nbytes for column in self.tally)

    def details(self) -> dict[str, Any]:
        """The association in use."""
        return {"association": self.options.association, "association bytes": self.association.nbytes}


@leaf
def confirm(t: Tally, found: int, c: Conjunctions, w: Work) -> int:
    """Keep the found conjunctions whose predicates beyond the counted ones are satisfied too; returns how many."""
    kept = 0
    for i in range(found):
        k = t.found[i]
        holds = True
        for at in range(c.start[k] + LIMIT, c.start[k] + c.size[k]):
            holds = holds and has_bit(w.bits, c.cells[at])
        if holds:
            t.found[kept] = k
            kept += 1
    return kept


@kernel
def match_counting(
    association: Association,
    x: Indexes,
    w: Work,
    t: Tally,
    c: Conjunctions,
    s: Stamps,
    always: Int32Array,
    offsets: Int64Array,
    attrs: Int32Array,
    keys: Int64Array,
) -> tuple[Int64Array, Int32Array, int]:
    """Both stages for a batch; returns (match offsets, owners, candidates)."""
    out, out_offsets, m, candidates = np.empty(1024, np.int32), np.zeros(len(offsets), np.int64), 0, 0
    for e in range(len(offsets) - 1):
        s.serial[0] += 1
        n = satisfy(x, w, attrs, keys, offsets[e], offsets[e + 1])
        found, checked = count(association, t, w.satisfied, n)
        out = grown(out, m + found + len(always))
        m = emit(c, s, out, m, t.found, confirm(t, found, c, w))
        m = emit(c, s, out, m, always, len(always))
        candidates += checked + len(always)
        clear(w, n)
        out_offsets[e + 1] = m
    return out_offsets, out[:m].copy(), candidates
