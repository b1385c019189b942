"""`Base`: an index, the owners it was built with, and those that died since."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.handle import handle_of
from tamis.candidates.keyed.best import PROBE_COST
from tamis.candidates.keyed.decode import decode_index
from tamis.candidates.keyed.index import Built, arrays_of, build_index, expected_candidates
from tamis.candidates.keyed.weights import Sample
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import Int32Array
from tamis.encoding.subscriptions import ALL, ALL_SET, FIRST_SET, IN, IN_SET, SubscriptionTable

NONE_DEAD = np.zeros(0, np.uint8)
FEW = 4096
"""Conjunctions that costs are estimated on."""


class Base:
    """An index; the owners it was built with and those dead since, a bit each.

    conjunctions: how many it was built from. several: (owner, number of conjunctions) of owners that have more than one.
    few: some of the conjunctions, in the same proportions, to estimate costs on. learned: its keys suit a sample of events;
    usual: the candidates without a match that an event met at first, once known.
    """

    def __init__(
        self,
        built: Built,
        present: NDArray[np.uint8],
        conjunctions: int,
        several: NDArray[np.int32],
        few: SubscriptionTable | None = None,
        learned: bool = False,
    ) -> None:
        self.built, self.present, self.conjunctions, self.several = built, present, conjunctions, several
        self.few, self.learned = few, learned
        self.usual: float | None = None
        self.handle = handle_of(arrays_of(built.arrays).values())
        self.dead = np.zeros_like(present)
        self.buried = False

    @property
    def nbytes(self) -> int:
        """Bytes held beside the index."""
        held = self.present.nbytes + self.dead.nbytes + self.several.nbytes
        return held + (self.few.nbytes if self.few is not None else 0)

    def best(self, sample: Sample, dictionary: Dictionary, look_up: float = PROBE_COST) -> float:
        """Candidates per event expected under the best keys for the sampled events, estimated on a few conjunctions."""
        if self.few is None:
            self.few = thinned(decode_index(self.built.arrays, NONE_DEAD, dictionary))
        times = self.conjunctions / max(1, len(self.few))
        return expected_candidates(self.few, times, self.built.arrays.ranks, sample, look_up)

    def bury(self, ids: Int32Array) -> None:
        """Mark owners as dead; unknown ones are ignored."""
        known = ids[(ids >= 0) & (ids < 8 * len(self.dead))]
        np.bitwise_or.at(self.dead, known >> 3, (1 << (known & 7)).astype(np.uint8))
        self.buried = self.buried or len(known) > 0

    def alive(self) -> tuple[int, int]:
        """Owners and conjunctions that are not dead."""
        gone = self.present & self.dead
        owners = int(np.bitwise_count(self.present).sum()) - (lost := int(np.bitwise_count(gone).sum()))
        owner, number = self.several
        further = (number - 1)[gone[owner >> 3] >> (owner & 7) & 1 == 1].sum()
        return owners, self.conjunctions - lost - int(further)

    @property
    def gone(self) -> NDArray[np.uint8]:
        """The bits of the dead owners, empty when there is none."""
        return self.dead if self.buried else NONE_DEAD


def new_base(table: SubscriptionTable, sample: Sample, owners: Int32Array, look_up: float = PROBE_COST) -> Base:
    """A base over a table for the sampled events; `owners` may include some without a conjunction that can hold.

    Conjunctions that cannot hold are dropped before anything is counted: the index does not keep them, so a merge would
    count differently.
    """
    dropped = hopeless(table)
    table = table.take(np.flatnonzero(~dropped)) if dropped.any() else table
    bits = np.zeros(int(owners.max(initial=-1)) + 1, np.uint8)
    bits[owners] = 1
    counts = np.bincount(table.owners, minlength=len(bits))
    many = np.flatnonzero(counts > 1)
    several = np.stack([many, counts[many]]).astype(np.int32)
    idle = int(np.count_nonzero(bits)) - int(np.count_nonzero(counts))
    present = np.packbits(bits, bitorder="little")
    built = build_index(table, sample, look_up)
    return Base(built, present, len(table) + idle, several, thinned(table), sample.events > 0)


def thinned(table: SubscriptionTable) -> SubscriptionTable:
    """About FEW of a table's conjunctions, evenly chosen, with no other sets than theirs."""
    few = table.take(np.arange(0, len(table), max(1, len(table) // FEW)))
    listed = few.ops >= FIRST_SET
    counts = np.where(listed, few.hi - few.lo, 0)
    ends = np.cumsum(counts)
    at = np.repeat(few.lo - (ends - counts), counts) + np.arange(int(counts.sum()))
    lo, hi = np.where(listed, ends - counts, few.lo), np.where(listed, ends, few.hi)
    return replace(few, lo=lo, hi=hi, sets=few.sets[at])


def hopeless(table: SubscriptionTable) -> NDArray[np.bool_]:
    """Which conjunctions ask for a value of an empty interval or set: bool[conjunctions]."""
    interval = ((table.ops == IN) | (table.ops == ALL)) & (table.lo > table.hi)
    listed = ((table.ops == IN_SET) | (table.ops == ALL_SET)) & (table.lo >= table.hi)
    rows = np.zeros(len(table), np.bool_)
    rows[np.searchsorted(table.offsets, np.flatnonzero(interval | listed), side="right") - 1] = True
    return rows
