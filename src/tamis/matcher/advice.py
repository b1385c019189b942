"""Which engine for which workload: the measured workloads most like it decide, and the answer says why.

`recommendation.toml` holds random workloads with their features and what each engine cost on them, in microseconds per
event, changes included (`python -m tamis.bench.recommend` makes it). A workload is compared with them feature by feature;
for each engine the costs of the nearest ones, relative to the best engine there, are averaged, and the lowest average wins.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from tamis.engines.registry import DEFAULT
from tamis.errors import EngineError
from tamis.lang.filters import Filter
from tamis.matcher.features import Features
from tamis.model.subscription import SubscriptionId

TABLE = Path(__file__).with_name("recommendation.toml")
NEAREST = 7
MISSING_COST = 10.0  # an engine that was too slow to be measured to the end


@dataclass(frozen=True, slots=True)
class Sample:
    """What `Matcher(engine="auto")` may look at. `events`: like those to come. `subscriptions`: like those to come, used when
    the matcher holds none yet; `expected`: how many there will be. `batch`: events per call. `updates`: subscriptions
    replaced per event."""

    events: Sequence[Mapping[str, Any]] = ()
    subscriptions: Sequence[tuple[SubscriptionId, Filter]] = ()
    expected: int | None = None
    batch: int = 1
    updates: float = 0.0

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise EngineError(f"engine 'auto': sample.batch = {self.batch} must be at least 1: it is events per call")
        if self.updates < 0:
            raise EngineError(f"engine 'auto': sample.updates = {self.updates} must not be negative")
        if self.expected is not None and self.expected < 0:
            raise EngineError(f"engine 'auto': sample.expected = {self.expected} must not be negative")


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine and why; `costs`: what each engine is expected to cost, relative to the best."""

    engine: str
    reason: str
    costs: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """A row of the table: a workload and microseconds per event by engine."""

    seed: int
    features: Features
    cost: dict[str, float]


def logarithm(least: float) -> Callable[[float], float]:
    """Orders of magnitude above `least`."""
    return lambda x: math.log10(x + least)


SCALES: dict[str, tuple[float, Callable[[float], float]]] = {
    "subscriptions": (1.0, logarithm(1)),
    "attributes": (0.5, logarithm(1)),
    "predicates": (1.0, logarithm(0.1)),
    "equality": (1.0, float),
    "presence": (2.0, float),
    "constants": (0.4, logarithm(1)),
    "pairs": (0.8, logarithm(1)),
    "holds": (0.8, logarithm(0.001)),
    "rarest": (0.5, logarithm(0.0001)),
    "matches": (0.5, logarithm(0.1)),
    "batch": (0.8, logarithm(0)),
    "updates": (0.8, logarithm(0.001)),
}
"""feature → its weight, and the scale it is compared on."""


def position(told: Features) -> dict[str, float]:
    """A workload's place: the features that are known, scaled and weighted."""
    values = {f.name: getattr(told, f.name) for f in fields(told)}
    return {name: weight * scale(values[name]) for name, (weight, scale) in SCALES.items() if values[name] is not None}


def distance(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """How far two workloads are apart in the features known of both."""
    return math.sqrt(sum((a[name] - b[name]) ** 2 for name in a.keys() & b.keys()))


def choose(told: Features, rows: Sequence[Measured] | None = None) -> Choice:
    """The engine for a workload."""
    rows = table() if rows is None else rows
    if not rows or not told.subscriptions:
        return Choice(DEFAULT, f"{DEFAULT}, the default: nothing is known of the subscriptions yet")
    here = position(told)
    near = sorted(rows, key=lambda row: (distance(here, position(row.features)), row.seed))[:NEAREST]
    weights = [1 / (0.3 + distance(here, position(row.features))) for row in near]
    costs = relative_costs(near, weights)
    best = min(costs, key=lambda name: (costs[name], name))
    return Choice(best, sentence(best, costs, told, len(near)), costs)


def relative_costs(rows: Iterable[Measured], weights: Iterable[float]) -> dict[str, float]:
    """Engine → how many times the best engine's cost it took, averaged by ratio."""
    rows, weights = list(rows), list(weights)
    total = sum(weights)
    costs = {}
    for name in sorted({name for row in rows for name in row.cost}):
        logs = [math.log(row.cost[name] / min(row.cost.values()) if name in row.cost else MISSING_COST) for row in rows]
        costs[name] = math.exp(sum(w * x for w, x in zip(weights, logs, strict=True)) / total)
    return costs


def sentence(best: str, costs: dict[str, float], told: Features, count: int) -> str:
    """Why, in words."""
    others = sorted((cost, name) for name, cost in costs.items() if name != best)
    looked = [
        f"{told.subscriptions:,.0f} subscriptions",
        f"{told.predicates:.1f} predicates each",
        f"{told.equality:.0%} of them equalities",
    ]
    if told.pairs is not None and told.matches is not None:
        looked += [f"{told.pairs:.0f} attributes per event", f"{told.matches:,.1f} matches per event"]
    else:
        looked.append("no events seen")
    looked += [f"{told.batch:,.0f} events per call", f"{told.updates:g} changes per event"]
    then = f"; next is {others[0][1]}, {others[0][0] / costs[best]:.1f} times its cost" if others else ""
    return f"{best}: cheapest on the {count} measured workloads most like this one ({', '.join(looked)}){then}"


@cache
def table(path: Path = TABLE) -> tuple[Measured, ...]:
    """The shipped measurements."""
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    names = [f.name for f in fields(Features)]
    return tuple(
        Measured(row["seed"], Features(**{name: row.get(name) for name in names}), row["cost"])
        for row in given["workload"]
    )
