"""Figures 4 to 8 of paper 003: predicates evaluated per event by each schedule.

Beside the schedules stand two marks: what naive would evaluate without a memo, and a floor, which no schedule can go below
even if it knew every outcome beforehand.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis.candidates.schedule.plan import RULES, Plan
from tamis.workloads.operators import EventModel, OperatorWorkload, Popularity, operator_workload


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of a figure."""

    subscriptions: int
    predicates: int
    popularity: Popularity
    alpha: float = 1.0
    longest: int = 5
    model: EventModel = "independent"


@dataclass(frozen=True, slots=True)
class Measured:
    """Means over events; `evaluated` by schedule, `plan_seconds` to order the chains of each."""

    setting: Setting
    evaluated: dict[str, float]
    plan_seconds: dict[str, float]
    without_memo: float
    floor: float
    matching: float


def measure(setting: Setting, events: int = 50, seed: int = 0) -> Measured:
    """Run every schedule on one setting and check that all agree on the matches."""
    workload = operator_workload(
        setting.subscriptions,
        setting.predicates,
        setting.popularity,
        alpha=setting.alpha,
        longest=setting.longest,
        events=setting.model,
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
