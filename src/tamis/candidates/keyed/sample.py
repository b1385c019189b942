"""`Sampler`: a few of the events that pass, the latest preferred, for statistics."""

import numpy as np

from tamis.candidates.keyed.weights import NO_SAMPLE, Sample
from tamis.encoding.events import EventBatch

SHARE, MOST = 16, 64
"""Of a batch one event in SHARE is kept and at least one; a sample is made of the last MOST batches looked at."""
PER_BATCH = 64


class Sampler:
    """Keeps pairs of sampled events in a ring; a race between two readers loses a sample, nothing else."""

    def __init__(self) -> None:
        self.ring: list[Sample] = []
        self.seen = 0

    def __len__(self) -> int:
        return sum(part.events for part in self.ring)

    def due(self) -> bool:
        """Whether a single event that passes should be kept: one in SHARE."""
        self.seen += 1
        return self.seen % SHARE == 0

    def look_at(self, events: EventBatch) -> None:
        """Take some of a batch's events into the sample; of single events, one in SHARE."""
        self.seen += 1
        n = len(events)
        if n == 0 or (n < SHARE and self.seen % SHARE):
            return
        taken = min(PER_BATCH, max(1, n // SHARE))
        first = self.seen * 7919 % (n - taken + 1)
        part = events.slice(first, first + taken)
        self.keep(Sample(part.offsets, part.attrs.copy(), part.keys.copy()))

    def keep(self, sample: Sample) -> None:
        """Take in a part of the sample."""
        if len(self.ring) < MOST:
            self.ring.append(sample)
        else:
            self.ring[self.seen // SHARE % MOST] = sample

    def sample(self) -> Sample:
        """All that is kept, as one."""
        ring = list(self.ring)
        if not ring:
            return NO_SAMPLE
        sizes = np.concatenate([np.diff(part.offsets) for part in ring])
        joined = (np.concatenate([part.attrs for part in ring]), np.concatenate([part.keys for part in ring]))
        return Sample(np.concatenate([[0], np.cumsum(sizes)]), *joined)
