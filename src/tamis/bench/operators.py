"""Figures 4 to 8 of paper 003: predicates evaluated per event by each schedule, beside the paper's numbers.

Beside the schedules stand two marks: what naive would evaluate without a memo, and a floor, which no schedule can go below
even if it knew every outcome beforehand.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.candidates.schedule.plan import RULES, Plan
from tamis.workloads.operators import OperatorWorkload, Popularity, operator_workload


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of a figure; `paper` holds the numbers the paper states in words for it."""

    figure: int
    subscriptions: int
    predicates: int
    popularity: Popularity
    alpha: float = 1.0
    longest: int = 5
    paper: dict[str, int] = field(default_factory=dict)


SETTINGS: tuple[Setting, ...] = (
    *(Setting(4, n, 40_000, "uniform") for n in (2_000, 10_000, 20_000, 40_000, 60_000)),
    Setting(4, 80_000, 40_000, "uniform", paper={"sequential": 7761, "suborder": 7037}),
    *(Setting(5, n, 40_000, "zipf") for n in (2_000, 10_000, 20_000, 40_000, 60_000, 80_000)),
    *(Setting(6, 20_000, n, "zipf") for n in (2_000, 5_000, 10_000, 20_000)),
    Setting(6, 20_000, 30_000, "zipf", paper={"naive": 16251, "sequential": 3267, "suborder": 1977}),
    Setting(7, 20_000, 5_000, "zipf", longest=5, paper={"sequential": 1593}),
    *(Setting(7, 20_000, 5_000, "zipf", longest=n) for n in (7, 9)),
    Setting(7, 20_000, 5_000, "zipf", longest=11, paper={"sequential": 1784}),
    Setting(8, 20_000, 5_000, "uniform"),
    *(Setting(8, 20_000, 5_000, "zipf", alpha=a) for a in (0.8, 1.0, 1.2)),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Means over events; `evaluated` by schedule, `plan_seconds` to order the chains of each."""

    setting: Setting
    evaluated: dict[str, float]
    plan_seconds: dict[str, float]
    without_memo: float
    floor: float
    matching: float

    def row(self) -> dict[str, Any]:
        """Flat, for tables and plots."""
        flat = {**asdict(self.setting), **asdict(self)}
        del flat["setting"]
        return flat


def measure(setting: Setting, events: int = 50, seed: int = 0) -> Measured:
    """Run every schedule on one setting and check that all agree on the matches."""
    workload = operator_workload(
        setting.subscriptions,
        setting.predicates,
        setting.popularity,
        alpha=setting.alpha,
        longest=setting.longest,
        seed=seed,
    )
    table = workload.events(events)
    evaluated, seconds = {}, {}
    reference: NDArray[np.bool_] | None = None
    for rule in RULES:
        start = time.perf_counter()
        plan = planned(rule, workload)
        seconds[rule] = time.perf_counter() - start
        counts, matched = plan.tally(table)
        if reference is None:
            reference = matched
        elif not np.array_equal(reference, matched):
            raise AssertionError(f"{rule} disagrees with naive on {setting}")
        evaluated[rule] = float(counts.mean())
    assert reference is not None
    floors = [floor(workload, row) for row in table[: min(events, 5)]]
    memoless = [without_memo(workload, row) for row in table]
    return Measured(
        setting, evaluated, seconds, float(np.mean(memoless)), float(np.mean(floors)), float(reference.mean())
    )


def planned(rule: str, workload: OperatorWorkload) -> Plan:
    """A plan that knows the true selectivities; all costs are one, as in the paper."""
    plan = Plan(rule)
    ids = np.arange(len(workload), dtype=np.int32)
    wanted = np.ones(len(workload.preds), np.int8)
    plan.insert(ids, workload.offsets, workload.preds, wanted, workload.selectivity, np.ones(len(workload.selectivity)))
    return plan


def without_memo(workload: OperatorWorkload, truth: NDArray[np.int8]) -> int:
    """Predicates evaluated when every subscription is evaluated on its own, up to its first false one."""
    starts, lengths = workload.offsets[:-1], np.diff(workload.offsets)
    place = np.arange(len(workload.preds)) - np.repeat(starts, lengths)
    ends = np.where(truth[workload.preds] == 1, len(workload.preds), place)
    return int(np.minimum(np.minimum.reduceat(ends, starts) + 1, lengths).sum())


def floor(workload: OperatorWorkload, truth: NDArray[np.int8], rounds: int = 30) -> float:
    """A lower bound on what any schedule evaluates for one event.

    A matching subscription needs all its predicates; each other one needs a false predicate. Give such subscriptions weights
    so that those sharing any one false predicate weigh at most 1 together: the total is a bound (a packing is never larger
    than a cover). Dividing every weight by the heaviest load it takes part in keeps that true and never lowers the total.
    """
    starts, lengths = workload.offsets[:-1], np.diff(workload.offsets)
    true = truth[workload.preds] == 1
    matched = np.logical_and.reduceat(true, starts)
    needed = len(np.unique(workload.preds[np.repeat(matched, lengths)]))
    owner = np.repeat(np.arange(len(workload)), lengths)[~true]
    false_preds = workload.preds[~true]
    bounds = np.flatnonzero(np.diff(owner, prepend=-1))
    open_ones = owner[bounds]
    weight = np.zeros(len(workload))
    weight[open_ones] = 1.0
    for _ in range(rounds):
        load = np.bincount(false_preds, weight[owner], len(truth))
        weight[open_ones] /= np.maximum.reduceat(load[false_preds], bounds)
    return needed + float(weight.sum())


def figures(events: int = 50) -> Iterator[Measured]:
    """Every point of every figure."""
    return (measure(setting, events) for setting in SETTINGS)
