"""Random workloads of every kind: what a seed draws is a whole workload, its size, shape and use included.

They are where engines are compared without anybody choosing the ground, and where a choice between engines is put to the
test: one set of seeds to learn from, another to be examined on. A fifth are of the kind that hash tables over several
attributes were made for: equalities only, few values, every attribute in every event.
"""

from dataclasses import dataclass, replace

import numpy as np

from tamis.workloads.reference import Numeric

LEAST, MOST = 1_000, 200_000
DRAWS = 40_000_000  # subscriptions times attributes, which bounds the time to generate


@dataclass(frozen=True, slots=True)
class Assorted:
    """A workload and how it is used: events per call, and subscriptions replaced per event. `presence`: subscriptions ask
    for attributes to be there or missing, and for nothing else."""

    seed: int
    shape: Numeric
    batch: int
    updates: float
    presence: bool


def assorted(seed: int) -> Assorted:
    """The workload of a seed."""
    chance = np.random.default_rng([seed, 77])

    def between(low: float, high: float) -> float:
        """Spread evenly over orders of magnitude."""
        return float(np.exp(chance.uniform(np.log(low), np.log(high))))

    count = int(between(LEAST, MOST))
    attributes = int(between(12, min(1000, DRAWS / count)))
    presence = chance.random() < 0.12
    strings = not presence and chance.random() < 0.15
    fewest = int(chance.integers(1, 6))
    most = min(fewest + int(chance.integers(0, 5)), attributes // 2)
    fewest = min(fewest, most)
    pairs = min(attributes, int(between(most, 40)))
    equality = 1.0 if strings else float(chance.choice([0.0, 0.3, 0.7, 1.0, chance.random()]))
    themes = int(between(10, 1000))
    shape = Numeric(
        subscriptions=count,
        attributes=attributes,
        values=int(between(5, 10_000)),
        predicates=(fewest, most),
        equality=equality,
        zipf=bool(chance.random() < 0.4),
        match=min(0.05, between(0.1, 1000) / count),
        themes=themes,
        templates=int(between(3, 60)) if chance.random() < 0.25 else 0,
        events=1000,
        pairs=(pairs, min(attributes, pairs + int(chance.integers(0, 6)))),
        strings=strings,
        seed=seed,
    )
    batch = int(chance.choice([1, 10, 100, 1000]))
    updates = float(chance.choice([0.0, 0.0, 0.01, 0.1, 1.0]))
    if not presence and chance.random() < 0.2:
        every = int(between(max(12, 2 * most), 40))
        shape = replace(
            shape, attributes=every, pairs=(every, every), values=int(between(5, 100)), equality=1.0,
            templates=int(between(1, 30)) if chance.random() < 0.5 else 0,
        )  # fmt: skip
    return Assorted(seed, shape, batch, updates, presence)
