"""Subscriptions over expensive predicates as truth tables (paper 003, table 1): who holds what, and what is true when.

Predicates have a popularity weight, uniform on [0, 1] or Zipf; a subscription draws its predicates by weight, without
repetition. The paper does not say how events come to match 0.2 % of the subscriptions. Two ways are offered:

    independent   predicate p is true with a probability of its own: u^k with u uniform, and k such that the wanted share
                  matches.
    planted       a few subscriptions, drawn at random, match: their predicates are true and all others false. What they
                  have in common with others makes more match; as many are planted as give the wanted share.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Popularity: TypeAlias = Literal["uniform", "zipf"]
EventModel: TypeAlias = Literal["planted", "independent"]
TRIALS = 8  # events by which the number of planted subscriptions is found


@dataclass(frozen=True, slots=True)
class OperatorWorkload:
    """Subscription i holds preds[offsets[i]:offsets[i+1]]; predicate p is true with probability selectivity[p]; in an event
    `planted` subscriptions match on purpose (0: predicates are true independently)."""

    offsets: NDArray[np.int64]
    preds: NDArray[np.int32]
    selectivity: NDArray[np.float64]
    seed: int
    planted: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def events(self, count: int) -> NDArray[np.int8]:
        """A truth table int8[count, predicates]."""
        rng = np.random.default_rng([self.seed, 1])
        table = np.empty((count, len(self.selectivity)), np.int8)
        for row in table:
            if self.planted:
                row[:] = planted_truth(rng.permutation(len(self))[: self.planted], self.offsets, self.preds, len(row))
            else:
                row[:] = rng.random(len(row)) < self.selectivity
        return table


def operator_workload(
    subscriptions: int,
    predicates: int,
    popularity: Popularity = "uniform",
    *,
    alpha: float = 1.0,
    shortest: int = 3,
    longest: int = 5,
    matching: float = 0.002,
    events: EventModel = "independent",
    seed: int = 0,
) -> OperatorWorkload:
    """A workload at the paper's parameters."""
    if not 0 < shortest <= longest <= predicates:
        raise ValueError(f"lengths {shortest} to {longest} do not fit {predicates} predicates")
    rng = np.random.default_rng([seed, 0])
    weights = rng.random(predicates) if popularity == "uniform" else 1.0 / np.arange(1, predicates + 1) ** alpha
    cumulative = np.cumsum(weights) / weights.sum()
    lengths = rng.integers(shortest, longest + 1, subscriptions)
    drawn = np.searchsorted(cumulative, rng.random((subscriptions, longest))).astype(np.int32)
    while (again := repeats(drawn)).any():
        drawn[again] = np.searchsorted(cumulative, rng.random(int(again.sum())))
    preds = drawn[np.arange(longest) < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if events == "independent":
        return OperatorWorkload(offsets, preds, selectivities(rng.random(predicates), offsets, preds, matching), seed)
    planted = planted_count(rng, offsets, preds, predicates, matching)
    holders = np.bincount(preds, minlength=predicates)
    selectivity = 1.0 - (1.0 - holders / subscriptions) ** planted
    return OperatorWorkload(offsets, preds, selectivity, seed, planted)


def repeats(drawn: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which entries of a row have an equal one to their left."""
    found = np.zeros(drawn.shape, np.bool_)
    for k in range(1, drawn.shape[1]):
        found[:, k] = (drawn[:, :k] == drawn[:, k : k + 1]).any(axis=1)
    return found


def selectivities(
    uniform: NDArray[np.float64], offsets: NDArray[np.int64], preds: NDArray[np.int32], matching: float
) -> NDArray[np.float64]:
    """uniform^k with the k for which subscriptions match with probability `matching` on average, by bisection."""
    low, high = 1e-3, 100.0
    for _ in range(60):
        k = (low + high) / 2
        share = float(np.multiply.reduceat((uniform**k)[preds], offsets[:-1]).mean())
        low, high = (k, high) if share > matching else (low, k)
    found: NDArray[np.float64] = uniform**low
    return found


def planted_truth(
    planted: NDArray[np.int64], offsets: NDArray[np.int64], preds: NDArray[np.int32], predicates: int
) -> NDArray[np.int8]:
    """Truth of every predicate (int8) when those of the planted subscriptions are true."""
    truth = np.zeros(predicates, np.int8)
    for i in planted.tolist():
        truth[preds[offsets[i] : offsets[i + 1]]] = 1
    return truth


def planted_count(
    rng: np.random.Generator, offsets: NDArray[np.int64], preds: NDArray[np.int32], predicates: int, matching: float
) -> int:
    """How many subscriptions to plant so that the wanted share matches on average, by bisection."""
    orders = [rng.permutation(len(offsets) - 1) for _ in range(TRIALS)]
    low, high = 1, max(1, round(matching * (len(offsets) - 1)))
    while low < high:
        middle = (low + high + 1) // 2
        truths = [planted_truth(order[:middle], offsets, preds, predicates) for order in orders]
        share = np.mean([np.logical_and.reduceat(truth[preds] == 1, offsets[:-1]).mean() for truth in truths])
        low, high = (middle, high) if share <= matching else (low, middle - 1)
    return low
