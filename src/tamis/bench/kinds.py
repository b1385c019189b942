"""Kinds of experiment: a run in, rows out. `match` puts an engine on a workload; the others have procedures of their own."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tamis.bench.results import Run

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """What a run may use: a folder of prepared workloads, a PostgreSQL server."""

    workloads: Path | None = None
    dsn: str = ""


def match(run: Run, place: Place) -> Rows:
    """One engine on one workload."""
    from tamis.bench.measure import measure
    from tamis.bench.prepare import prepare

    options = run.options | ({"dsn": place.dsn} if run.options.get("database") == "postgresql" else {})
    return [measure(run.engine, options, prepare(run.workload, run.seed, place.workloads), **run.settings)]


def drift(run: Run, place: Place) -> Rows:
    """A simulated day and a half, by the hour: `frozen` and `dynamic`."""
    from tamis.bench import drift as experiment

    given = dict(run.workload)
    change = given.pop("change")
    chosen = next(drift for drift in experiment.DRIFTS if drift.name == change)
    hours = [asdict(hour) for hour in experiment.run(chosen, **given)]
    metrics = hours[0].keys() - {"experiment", "strategy", "hour"}
    return [
        {"series": hour["strategy"], "at": {"hour": hour["hour"]}, "values": {m: hour[m] for m in sorted(metrics)}}
        for hour in hours
    ]


def operators(run: Run, place: Place) -> Rows:
    """Predicates evaluated by every schedule."""
    from tamis.bench.operators import Setting, measure

    given = dict(run.workload)
    events, _ = given.pop("events", 50), given.pop("case", None)
    found = measure(Setting(**given), events, run.seed)
    rows = [
        {"series": rule, "values": {"evaluated": cost, "plan_s": found.plan_seconds[rule], "matching": found.matching}}
        for rule, cost in found.evaluated.items()
    ]
    rows.append({"series": "naive without memo", "values": {"evaluated": found.without_memo}})
    return [*rows, {"series": "lower bound", "values": {"evaluated": found.floor}}]


def spark(run: Run, place: Place) -> Rows:
    """The pipeline in bulk and as a stream."""
    from tamis.bench.pipeline import measure

    return measure(run.workload)


def broker(run: Run, place: Place) -> Rows:
    """A real broker over HTTP."""
    from tamis.bench.broker import measure

    return measure(run.workload)


def laid_out(run: Run, place: Place) -> Rows:
    """A workload, made and left for later runs."""
    from tamis.bench.prepare import prepare

    prepare(run.workload, run.seed, place.workloads)
    return []


def warm(run: Run, place: Place) -> Rows:
    """The default engine's kernels, compiled."""
    from tamis.matcher.warm import warm as compile_all

    compile_all(lambda _: None)
    return []


KINDS: dict[str, Callable[[Run, Place], Rows]] = {
    "match": match,
    "drift": drift,
    "operators": operators,
    "spark": spark,
    "broker": broker,
    "prepare": laid_out,
    "warm": warm,
}
