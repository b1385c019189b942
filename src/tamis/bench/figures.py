"""From results to the numbers of a figure: one row per series and x, with the median and the range of its samples."""

import math
import statistics
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tamis.bench.results import Point
from tamis.bench.spec import Figure

OUTPUT = "output"
"""The x of figures about time per match: how many subscriptions an event matches."""


@dataclass(frozen=True, slots=True)
class Row:
    """A mark of a figure; `split` tells panels (or lines of one series) apart."""

    series: str
    x: Any
    y: float
    low: float
    high: float
    split: Any = None
    paper: bool = False


def matching(points: list[Point], figure: Figure, suite: str) -> list[Point]:
    """The points a figure is about."""
    return [
        point
        for point in points
        if point.run.suite == suite
        and point.run.group == figure.group
        and all(point.parameters.get(name) == value for name, value in figure.where.items())
    ]


def figure_rows(points: list[Point], figure: Figure, suite: str, known: Collection[str] = ()) -> list[Row]:
    """Measured rows, then those of the paper. Of the series the suite knows, a figure shows those it lists; an engine put
    there with --engine is in every figure."""
    found = matching(points, figure, suite)
    rows = by_output(found, figure) if figure.x == OUTPUT else by_parameter(found, figure)
    hidden = set(known) - set(figure.series) if figure.series else set()
    rows = [row for row in rows if row.series not in hidden]
    place = {name: i for i, name in enumerate(figure.series)}
    rows.sort(key=lambda row: (place.get(row.series, len(place)), row.x if isinstance(row.x, (int, float)) else 0))
    published = [
        Row(line["series"], x, y, y, y, line.get("split"), paper=True)
        for line in figure.paper
        for x, y in line["points"]
    ]
    return rows + published


def by_parameter(points: list[Point], figure: Figure) -> list[Row]:
    """x is a parameter of the workload, the engine or the row."""
    rows = []
    for point in points:
        y, x = point.metric(figure.y), point.parameters.get(figure.x)
        if y is not None and x is not None:
            low, high = point.spread(figure.y) or (y, y)
            rows.append(Row(point.series, x, y, low, high, point.parameters.get(figure.split)))
    return rows


def by_output(points: list[Point], figure: Figure) -> list[Row]:
    """x is the number of matches, events of all sizes pooled by powers of four; y is microseconds per match, with quartiles."""
    bins: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for point in points:
        for count, spent in point.by_output:
            if count:
                bins.setdefault((point.series, int(math.log2(count)) // 2), []).append((count, spent / count))
    rows = []
    for (series, _), pairs in bins.items():
        if len(pairs) < 3:
            continue
        low, middle, high = statistics.quantiles([each for _, each in pairs], n=4)
        rows.append(Row(series, round(statistics.fmean(n for n, _ in pairs)), middle, low, high))
    return rows
