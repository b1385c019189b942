"""`BatchMatching`: batches against a base, in parts that threads share, with memory that is used again."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamis.candidates.keyed.base import Base
from tamis.candidates.keyed.combine import by_cluster, in_order
from tamis.candidates.keyed.match import match_index, translate
from tamis.candidates.keyed.single import LEAST_ROOM
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet

SORTED_FROM, SORTED_ABOVE = 32, 1 << 23
"""Batches of at least this many events are brought into an order in which neighbours hit the same large clusters, unless
the blocks of all clusters are so few bytes that they are near anyway."""
FEWEST = 8
"""Events that are worth a thread."""
SHARED_FROM = 1 << 18
"""Matches from which threads share also the work of putting them in order."""
KEPT = 1 << 24
"""Matches that memory is kept for between batches, in each part."""

T = TypeVar("T")
R = TypeVar("R")


class Memory(NamedTuple):
    """event uint32[slots], zero between batches; out int32: room for matches."""

    event: NDArray[np.uint32]
    out: Int32Array


class Part(NamedTuple):
    """The matches of the events order[0], order[1], …: memory.out[offsets[k]:offsets[k+1]]; counters as in `Scratch`."""

    order: Int32Array
    offsets: Int64Array
    memory: Memory
    counters: Int64Array


class BatchMatching:
    """May be called by several threads at once; each batch is shared by up to `threads` of its own."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._idle: list[Memory] = []
        self._guess = 0

    def match(self, base: Base, events: EventBatch) -> tuple[MatchSet, Int64Array]:
        """All matches, and the sum of the counters. Threads take contiguous parts of the batch; the result does not depend on
        their number."""
        count = min(self.threads, max(1, len(events) // FEWEST))
        cuts = [len(events) * i // count for i in range(count + 1)]
        batches = [events.slice(start, stop) for start, stop in pairwise(cuts)] if count > 1 else [events]
        parts = self._shared(lambda batch: self._part(base, batch), batches)
        starts = np.cumsum([0, *(part.offsets[-1] for part in parts)])
        offsets, ids = np.zeros(len(events) + 1, np.int64), np.empty(starts[-1], np.int32)

        def put(i: int) -> None:
            order, made, memory, _ = parts[i]
            in_order(order, made, memory.out, starts[i], offsets[cuts[i] + 1 : cuts[i + 1] + 1], ids)
            if len(memory.out) <= KEPT:
                self._idle.append(memory)

        run = self._shared if len(ids) >= SHARED_FROM else map
        list(run(put, range(count)))
        self._guess = max(1, len(ids) // max(1, len(events)))
        return MatchSet(offsets, ids), np.sum([part.counters for part in parts], axis=0)

    def _part(self, base: Base, events: EventBatch) -> Part:
        """The matches of some events in the index; may run in any thread."""
        slots, codes = translate(base.handle, events.attrs, events.keys)
        batch = (events.offsets, slots, codes)
        large = len(events) >= SORTED_FROM and base.built.arrays.narrow.columns.nbytes > SORTED_ABOVE
        order = by_cluster(base.handle, *batch) if large else np.arange(len(events), dtype=np.int32)
        event, out = self._memory(len(base.built.arrays.ranks.attrs), int(self._guess * len(events) * 1.1) + LEAST_ROOM)
        offsets, out, counters = match_index(base.handle, base.gone, *batch, order, event, out)
        return Part(order, offsets, Memory(event, out), counters)

    def _memory(self, slots: int, room: int) -> Memory:
        """Memory for one part of a batch, put back among the idle ones after use."""
        try:
            event, out = self._idle.pop()
        except IndexError:  # all in use by other threads
            event, out = np.zeros(0, np.uint32), np.zeros(0, np.int32)
        return Memory(
            event if len(event) >= slots else np.zeros(slots, np.uint32),
            out if len(out) >= room else np.empty(room, np.int32),
        )

    def _shared(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """The function of each item, the first in this thread, the others in the pool's."""
        first, *others = items
        if others and self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="tamis-match")
        waiting = [self._pool.submit(function, item) for item in others] if self._pool is not None else []
        return [function(first), *(future.result() for future in waiting)]
