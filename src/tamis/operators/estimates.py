"""What operators have been seen to cost and how often predicates held: decayed averages that start from the hints.

The first observations move an average quickly, later ones by a fixed share, so it follows a drifting world.
"""

import numpy as np
from numpy.typing import NDArray

HINT = 4.0  # a hint weighs as much as so many observations
LEAST = 0.02  # share of the newest observation in the long run
CHEAPEST = 1e-7


class Estimates:
    """Selectivity and cost (seconds) per predicate id; `selectivity` and `cost` are the arrays schedules read."""

    def __init__(self) -> None:
        self.selectivity = np.zeros(0)
        self.cost = np.zeros(0)
        self.seen = np.zeros(0)

    def admit(self, predicate: int, selectivity: float, cost: float) -> None:
        """Start a predicate from its operator's hints."""
        room = predicate + 1
        if room > len(self.seen):
            size = max(room, 2 * len(self.seen), 16)
            self.selectivity, self.cost, self.seen = (
                np.append(a, np.full(size - len(a), fill))
                for a, fill in ((self.selectivity, 0.5), (self.cost, 1.0), (self.seen, 0.0))
            )
        self.selectivity[predicate], self.cost[predicate], self.seen[predicate] = selectivity, max(cost, CHEAPEST), 0

    def observe(self, predicate: int, held: bool | None, seconds: float) -> None:
        """One evaluation: whether it held (None: it failed) and how long it took."""
        self.seen[predicate] += 1
        share = max(LEAST, 1 / (HINT + self.seen[predicate]))
        self.cost[predicate] += share * (max(seconds, CHEAPEST) - self.cost[predicate])
        if held is not None:
            self.selectivity[predicate] += share * (float(held) - self.selectivity[predicate])

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(selectivity, cost)."""
        return self.selectivity, self.cost
