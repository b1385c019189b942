"""Engines × workloads: which engine suits what, from every suite's results at once."""

from dataclasses import dataclass
from typing import Any

from tamis.bench.claims import number
from tamis.bench.results import Point
from tamis.bench.spec import Group, Suite


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric worth comparing over all engines; `more` says that more is better."""

    metric: str
    title: str
    legend: str
    more: bool = False


MEASURES = (
    Measure("batch_us", "Time per event in a batch (µs)", "× the best"),
    Measure("single_us", "Time of one event alone (µs)", "× the best"),
    Measure("us_per_match", "Time per match in a batch (µs)", "× the best"),
    Measure("bytes_per_subscription", "Memory, engine's own count (bytes per subscription)", "× the least"),
    Measure("inserts_per_s", "Update rate: subscriptions inserted per second", "× behind the best", more=True),
)


def cells(suites: list[Suite], points: list[Point], measure: Measure) -> list[dict[str, Any]]:
    """A cell per engine and workload: the best of an engine's variants, and how far it is from the workload's best."""
    best: dict[tuple[str, str], float] = {}
    for suite in suites:
        for group in suite.groups:
            for point in points:
                value = point.metric(measure.metric)
                if value and belongs(suite, group, point):
                    place = (shown(point), workload_name(group, point))
                    better = max if measure.more else min
                    best[place] = better(best.get(place, value), value)
    return [
        {
            "engine": engine, "workload": workload, "text": number(value), "value": value,
            "factor": (factor := distance(value, [v for (_, w), v in best.items() if w == workload], measure.more)),
            "dark": factor > 20,
            "rank": factor,
        }
        for (engine, workload), value in best.items()
    ]  # fmt: skip


def belongs(suite: Suite, group: Group, point: Point) -> bool:
    """Whether a point stands for its group in the overview."""
    wanted = group.overview.get("where", {})
    inside = point.run.suite == suite.name and point.run.group == group.name and bool(group.overview)
    return inside and all(point.parameters.get(name) == value for name, value in wanted.items())


def workload_name(group: Group, point: Point) -> str:
    """What a column is called: fixed, or the value of a parameter."""
    label: str = group.overview["label"]
    return str(point.parameters.get(label, label))


def shown(point: Point) -> str:
    """Engines by registered name; databases apart."""
    database = point.run.options.get("database", "duckdb" if point.run.engine == "sql" else "")
    return f"sql ({database})" if database else point.run.engine


def distance(value: float, all_values: list[float], more: bool) -> float:
    """How many times worse than the best."""
    return max(all_values) / value if more else value / min(all_values)
