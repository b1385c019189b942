"""How likely an event is to carry an attribute, and a value: from sampled events, or from the constants themselves."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.csr import tally
from tamis.arrays.jit import kernel, leaf
from tamis.candidates.keyed.coded import BETWEEN, Coded
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import ALL, ALL_SET, IN, IN_SET, MISSING, NONE_SET, OUT_SET
from tamis.predicates.ranks import Ranks, rank

Float64Array = NDArray[np.float64]
GAP = 0.05
"""Weight of an interval between constants beside that of a constant: events tend to carry values people ask for."""
PRIOR = 64.0
"""Events' worth of belief in the guess from the constants when there is a sample."""


USUAL_PAIRS = 15
"""Attributes an event is taken to carry at least as long as none was seen."""


class Sample(NamedTuple):
    """Pairs of sampled events, one event after the other: the attribute and key of each pair, and where events begin
    (offsets int64[events + 1])."""

    offsets: Int64Array
    attrs: Int32Array
    keys: Int64Array

    @property
    def events(self) -> int:
        """How many there are."""
        return len(self.offsets) - 1


NO_SAMPLE = Sample(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))


class Weights(NamedTuple):
    """presence float64[s]: P(event has slot); P(code in [lo, hi] | present) = below[at + hi + 1] - below[at + lo],
    where slot s starts at = bound_starts[s] + 3 s. `pairs`: attributes an event carries on average."""

    presence: Float64Array
    below: Float64Array
    pairs: float


def weigh(coded: Coded, ranks: Ranks, sample: Sample) -> Weights:
    """Weights from sampled events; without any, a guess from the subscriptions."""
    slots, count = len(ranks.attrs), sample.events
    named = np.zeros(slots, np.int64)
    tally(coded.slots, named)
    guess = np.minimum(1.0, 2.0 * named / max(1, len(coded.owners)))
    counts = np.zeros(slots)
    below = np.zeros(len(ranks.bounds) + 3 * slots)
    spread(ranks.slots, ranks.starts, ranks.bounds, sample.attrs, sample.keys, counts, below)
    presence = (counts + PRIOR * guess) / (count + PRIOR) if count else guess
    pairs = float(presence.sum())
    return Weights(np.clip(presence, 1e-6, 1.0), below, pairs if count else max(pairs, min(USUAL_PAIRS, slots)))


@kernel
def spread(
    slots: Int32Array,
    starts: Int64Array,
    bounds: Int64Array,
    attrs: Int32Array,
    keys: Int64Array,
    counts: Float64Array,
    below: Float64Array,
) -> None:
    """Fill `counts` (pairs per slot) and `below` (see `Weights`) from sampled pairs and the constants."""
    for i in range(len(attrs)):
        s = slots[attrs[i]] if attrs[i] < len(slots) else -1
        if s >= 0:
            counts[s] += 1.0
            below[starts[s] + 3 * s + 1 + rank(bounds, starts[s], starts[s + 1], keys[i])] += 1.0
    for s in range(len(counts)):
        at, size = starts[s] + 3 * s, starts[s + 1] - starts[s]
        total = 0.0
        for code in range(1, size + 2):
            single = 2 <= code <= size and bounds[starts[s] + code - 1] == bounds[starts[s] + code - 2] + 1
            total += 1.0 if single else GAP
        before = 0.0
        for code in range(size + 2):
            single = 2 <= code <= size and bounds[starts[s] + code - 1] == bounds[starts[s] + code - 2] + 1
            guess = 0.0 if code == 0 else (1.0 if single else GAP) / total
            before += (below[at + code + 1] + PRIOR * guess) / (counts[s] + PRIOR)
            below[at + code + 1] = before


@leaf
def mass(below: Float64Array, at: int, lo: int, hi: int) -> float:
    """P(code in [lo, hi] | present) for a slot whose part of `below` starts at `at`."""
    return max(0.0, below[at + hi + 1] - below[at + lo])


@leaf
def likelihood(
    op: int,
    lo: int,
    hi: int,
    present: float,
    below: Float64Array,
    at: int,
    set_starts: Int64Array,
    set_codes: Int32Array,
) -> float:
    """P(an event satisfies the predicate)."""
    if op == MISSING:
        return 1.0 - present
    inside = 0.0
    if op == IN_SET or op == OUT_SET or op == NONE_SET or op == ALL_SET:
        for q in range(set_starts[lo], set_starts[lo + 1]):
            inside += mass(below, at, set_codes[q], set_codes[q])
    elif lo <= hi:
        inside = mass(below, at, lo, hi)
    if op == IN or op == ALL or op == IN_SET or op == ALL_SET or op == BETWEEN:
        return present * inside
    return present * (1.0 - inside)
