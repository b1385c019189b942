"""`MatchSet`: for each event of a batch, the dense ids of the subscriptions it satisfies."""

from dataclasses import dataclass

import numpy as np

from tamis.encoding.keys import Int32Array, Int64Array


@dataclass(frozen=True, slots=True)
class MatchSet:
    """CSR event → subscriptions: event i matches ids[offsets[i]:offsets[i+1]], each once, in no particular order.

    offsets int64[n+1], ids int32[m].
    """

    offsets: Int64Array
    ids: Int32Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, event: int) -> Int32Array:
        """Ids matched by one event."""
        return self.ids[self.offsets[event] : self.offsets[event + 1]]

    def pairs(self) -> tuple[Int64Array, Int32Array]:
        """(event index, id) as two columns."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets)), self.ids

    def ordered(self) -> "MatchSet":
        """The same matches with each event's ids ascending: equal sets of matches become equal arrays."""
        events, ids = self.pairs()
        return MatchSet(self.offsets, ids[np.lexsort((ids, events))])

    def equals(self, other: "MatchSet") -> bool:
        """Whether both hold the same matches."""
        mine, theirs = self.ordered(), other.ordered()
        return np.array_equal(mine.offsets, theirs.offsets) and np.array_equal(mine.ids, theirs.ids)

    @staticmethod
    def concat(parts: list["MatchSet"]) -> "MatchSet":
        """The matches of consecutive batches as those of one."""
        counts = np.concatenate([np.diff(part.offsets) for part in parts] or [np.zeros(0, np.int64)])
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return MatchSet(offsets, np.concatenate([part.ids for part in parts] or [np.zeros(0, np.int32)]))
