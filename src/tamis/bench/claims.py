"""Whether what a paper claims holds here, decided by tests on the measurements.

A claim's test names series of its figure and bounds. Kinds:

    ratio      y of one series over y of another, at the first, last or every common x (`apart`: whatever their x)
    growth     y at the last x over y at the first; `per_x`: divided by the growth of x, so 1 is proportional
    lead       the ratio of two series at the last x over the same at the first
    bound      y itself
    crossing   the ratio of two series is above 1 at the first x and below at the last
    order      several series, ascending at their last common x
    best       a series has the least y at the last x
    best_at    the least y lies at an x of at least `least`, within `slack`
    window     mean y over late x against early x
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tamis.bench.figures import Row, figure_rows
from tamis.bench.results import Point
from tamis.bench.spec import Claim, Figure, Suite
from tamis.errors import DataError

HOLDS, FAILS, OPEN = "holds", "does not hold here", "not measured"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, what was decided, and the numbers it was decided by."""

    suite: str
    claim: Claim
    verdict: str
    measured: str


Found = tuple[bool, str]


def verdicts(suite: Suite, points: list[Point]) -> list[Verdict]:
    """A verdict for each claim of a suite."""
    return [judged(suite, claim, points) for claim in suite.claims]


def judged(suite: Suite, claim: Claim, points: list[Point]) -> Verdict:
    """One claim."""
    figure = next(f for f in suite.figures if f.id == claim.figure)
    test = claim.test
    if test["kind"] not in TESTS:
        raise DataError(f"suite {suite.name!r}: a claim is tested by {test['kind']!r}, which does not exist")

    def series(name: str, where: dict[str, Any] | None = None) -> list[Row]:
        narrowed = replace(figure, where=figure.where | (where or {}), paper=[])
        rows = [row for row in figure_rows(points, narrowed, suite.name) if row.series == name]
        return sorted(rows, key=lambda row: row.x) if all(isinstance(row.x, (int, float)) for row in rows) else rows

    found = TESTS[test["kind"]](figure, test, series)
    if found is None:
        return Verdict(suite.name, claim, OPEN, "")
    return Verdict(suite.name, claim, HOLDS if found[0] else FAILS, found[1])


Series = Callable[..., list[Row]]


def within(test: dict[str, Any], values: list[float]) -> bool:
    """Whether all values lie in the bounds of a test."""
    return all(test.get("least", float("-inf")) <= value <= test.get("most", float("inf")) for value in values)


def pairs(test: dict[str, Any], series: Series) -> list[tuple[Any, float]]:
    """(x, ratio of the two series) at common x."""
    where = test.get("where", {})
    above = {row.x: row.y for row in series(test["of"], where)}
    below = {row.x: row.y for row in series(test["to"], test.get("to_where", where))}
    return [(x, above[x] / below[x]) for x in above if below.get(x)]


def ratio(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """One series over another."""
    if test.get("at") == "apart":
        where = test.get("where", {})
        above, below = series(test["of"], where), series(test["to"], test.get("to_where", where))
        found = [(above[0].x, above[0].y / below[0].y)] if above and below else []
    else:
        found = pairs(test, series)
    if not found:
        return None
    chosen = {"first": found[:1], "every": found}.get(test.get("at", "last"), found[-1:])
    values = [value for _, value in chosen]
    told = times(values)
    same = test["of"] == test["to"]
    names = "the ratio" if same else f"{test['of']} / {test['to']}"
    places = "" if test.get("at") == "apart" else f" at {listed([x for x, _ in chosen])} {figure.x_title}"
    return within(test, values), f"{names} = {told}{places}"


def growth(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """Last over first."""
    rows = series(test["of"], test.get("where"))
    if len(rows) < 2 or not rows[0].y:
        return None
    factor = rows[-1].y / rows[0].y
    told = f"{test['of']}: {number(rows[0].y)} → {number(rows[-1].y)} ({number(factor)} times)"
    told += f" from {number(rows[0].x)} to {number(rows[-1].x)} {figure.x_title}"
    return within(test, [factor / (rows[-1].x / rows[0].x) if test.get("per_x") else factor]), told


def lead(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """How a ratio changes."""
    found = pairs(test, series)
    if len(found) < 2:
        return None
    (first_x, first), (last_x, last) = found[0], found[-1]
    told = f"{test['of']} / {test['to']} = {number(first)} at {number(first_x)}, {number(last)} at {number(last_x)}"
    return within(test, [last / first]), f"{told} {figure.x_title}"


def bound(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """y itself."""
    rows = series(test["of"], test.get("where"))
    if not rows:
        return None
    chosen = rows if test.get("at") == "every" else rows[-1:]
    told = f"{test['of']}: {listed([row.y for row in chosen])} {figure.y_title}"
    return within(test, [row.y for row in chosen]), f"{told} at {listed([row.x for row in chosen])} {figure.x_title}"


def crossing(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """First above, then below."""
    found = pairs(test, series)
    if len(found) < 2:
        return None
    told = "; ".join(f"{number(value)} at {number(x)}" for x, value in found)
    return found[0][1] > 1 > found[-1][1], f"{test['of']} / {test['to']} = {told} {figure.x_title}"


def order(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """Ascending at the last common x."""
    lines = {name: {row.x: row.y for row in series(name, test.get("where"))} for name in test["series"]}
    common = [x for x in next(iter(lines.values())) if all(x in line for line in lines.values())]
    if not common:
        return None
    values = [line[common[-1]] for line in lines.values()]
    told = ", ".join(f"{name} {number(value)}" for name, value in zip(lines, values, strict=True))
    return values == sorted(values), f"{told} at {number(common[-1])} {figure.x_title}"


def best(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """The least y at the last x."""
    last = {name: rows[-1] for name in test["among"] if (rows := series(name, test.get("where")))}
    if test["of"] not in last or len(last) < 2:
        return None
    x = max(row.x for row in last.values())
    there = {name: row.y for name, row in last.items() if row.x == x}
    winner = min(there, key=lambda name: there[name])
    told = ", ".join(f"{name} {number(y)}" for name, y in sorted(there.items(), key=lambda item: item[1]))
    return winner == test["of"], f"{told} at {number(x)} {figure.x_title}"


def best_at(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """Where the least y lies."""
    rows = series(test["of"], test.get("where"))
    beyond = [row for row in rows if row.x >= test["least"]]
    if not beyond or len(rows) < 2:
        return None
    least = min(rows, key=lambda row: row.y)
    told = f"{test['of']}: least at {number(least.x)} ({number(least.y)}); "
    told += f"from {number(test['least'])} on {listed([row.y for row in beyond])}"
    return min(row.y for row in beyond) <= least.y * (1 + test.get("slack", 0.0)), told


def window(figure: Figure, test: dict[str, Any], series: Series) -> Found | None:
    """Late against early."""
    rows = series(test["of"], test.get("where"))
    means = []
    for low, high in (test["early"], test["late"]):
        inside = [row.y for row in rows if low <= row.x < high]
        if not inside:
            return None
        means.append(statistics.fmean(inside))
    share = means[1] / means[0] if means[0] else 0.0
    return within(test, [share]), f"{test['of']}: {number(means[0])} before, {number(means[1])} after ({share:.0%})"


TESTS: dict[str, Callable[[Figure, dict[str, Any], Series], Found | None]] = {
    "ratio": ratio,
    "growth": growth,
    "lead": lead,
    "bound": bound,
    "crossing": crossing,
    "order": order,
    "best": best,
    "best_at": best_at,
    "window": window,
}


def number(value: Any) -> str:
    """Three digits, thousands apart."""
    if not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def listed(values: list[Any]) -> str:
    """One value, or the range of several."""
    if len(values) <= 2 or not all(isinstance(value, (int, float)) for value in values):
        return ", ".join(number(value) for value in values)
    return f"{number(min(values))} to {number(max(values))}"


def times(values: list[float]) -> str:
    """A ratio, or the range of several."""
    low, high = min(values), max(values)
    return number(low) if len(values) == 1 else f"{number(low)} to {number(high)}"
