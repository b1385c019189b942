"""What the two-stage engines share: predicates and conjunctions under recycled ids, and the order of their coming and going.

An engine adds how conjunctions are associated with predicates (`place`, `displace`) and its outer kernel (`run`). Inserts,
removals and matches of one engine take turns; scratch memory is kept between calls.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.buffer import extended
from tamis.arrays.jit import leaf
from tamis.candidates.conjunctions import Conjunctions, ConjunctionStore
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import EngineStats
from tamis.errors import EngineError, nearest
from tamis.predicates.stage import INDEXES, Stage


class Stamps(NamedTuple):
    """by_owner int64: the serial number of the event that last matched the owner, so that each comes once an event;
    serial int64[1]: events so far."""

    by_owner: Int64Array
    serial: Int64Array


class TwoStage(ABC):
    """Base of the engines that find satisfied predicates first and conjunctions after."""

    def __init__(self, dictionary: Dictionary, index: str) -> None:
        self.stage, self.store = Stage(index, dictionary), ConjunctionStore()
        self.stamps = Stamps(np.zeros(0, np.int64), np.zeros(1, np.int64))
        self.events = self.candidates = self.matches = 0

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """Register predicates, then conjunctions, then place them."""
        offsets, predicates, fresh = self.stage.acquire(subscriptions)
        try:
            self.admit(max(self.store.made, len(self.store) + len(subscriptions)))
        except EngineError:
            self.stage.release(predicates)
            raise
        ids = self.store.add(subscriptions.owners, offsets, predicates)
        by_owner = extended(self.stamps.by_owner, len(self.store.columns.head), 0)
        self.stamps = self.stamps._replace(by_owner=by_owner)
        self.acquired(fresh)
        self.place(ids, offsets, predicates)

    def remove(self, ids: Int32Array) -> None:
        """Displace the conjunctions, then free them and the predicates only they had."""
        conjunctions = self.store.of(ids)
        predicates = self.store.predicates(conjunctions)
        sizes = self.store.columns.size[conjunctions]
        self.displace(conjunctions, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), predicates)
        self.released(self.stage.release(predicates))
        self.store.forget(conjunctions, ids)

    def match(self, events: EventBatch) -> MatchSet:
        """Stage one and stage two, event by event."""
        offsets, ids, candidates = self.run(events)
        self.events += len(events)
        self.candidates += candidates
        self.matches += len(ids)
        return MatchSet(offsets, ids)

    def first_stage(self, events: EventBatch) -> int:
        """Stage one alone, so that the stages can be timed apart: how many predicates the events satisfy in all."""
        return self.stage.count(events)

    def stats(self) -> EngineStats:
        """Sizes and counters; details tell of the predicates and of the engine's own structures."""
        held = self.stage.nbytes + self.store.nbytes + self.stamps.by_owner.nbytes + self.structure_bytes()
        counters = (self.events, self.candidates, self.matches)
        details = {**self.stage.details(), **self.details()}
        return EngineStats(self.store.subscriptions, len(self.store), held, *counters, details)

    def admit(self, conjunctions: int) -> None:
        """Raise an EngineError if so many conjunctions would not fit; by default any number does."""
        del conjunctions

    def acquired(self, predicates: Int32Array) -> None:
        """Told of predicates that came into use; by default nothing follows."""
        del predicates

    def released(self, predicates: Int32Array) -> None:
        """Told of predicates that went out of use, their columns still readable; by default nothing follows."""
        del predicates

    @abstractmethod
    def place(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Take up conjunctions, given with CSR of their predicates."""

    @abstractmethod
    def displace(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Let go of conjunctions, given with CSR of their predicates."""

    @abstractmethod
    def run(self, events: EventBatch) -> tuple[Int64Array, Int32Array, int]:
        """The outer kernel: (match offsets, owners, candidates checked)."""

    @abstractmethod
    def structure_bytes(self) -> int:
        """Bytes of the engine's own structures."""

    def details(self) -> dict[str, Any]:
        """What only this engine has to tell."""
        return {}


def one_of(engine: str, option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse an option value that does not exist."""
    if value not in allowed:
        listed = ", ".join(allowed)
        raise EngineError(
            f"engine {engine!r}: {option}={value!r} is unknown{nearest(value, allowed)} ({option}: {listed})"
        )


def check_index(engine: str, index: str) -> None:
    """Refuse an index that does not exist."""
    one_of(engine, "index", index, INDEXES)


@leaf
def emit(c: Conjunctions, s: Stamps, out: Int32Array, n: int, found: Int32Array, count: int) -> int:
    """Append the owners of conjunctions found[:count] to out[:n], which has room, each once an event; returns the new n."""
    serial = s.serial[0]
    for i in range(count):
        owner = c.owner[found[i]]
        if s.by_owner[owner] != serial:
            s.by_owner[owner] = serial
            out[n] = owner
            n += 1
    return n
