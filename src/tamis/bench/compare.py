"""Two sets of results against each other, with regard to noise.

A metric counts as changed when its medians differ by more than a threshold *and* the samples differ more than chance allows
(Mann-Whitney's test, exact for few samples). Samples of one process vary less than processes do: `tamis bench run
--repeat 3` measures each run in three processes, which makes the comparison trustworthy.
"""

import json
import math
import statistics
from dataclasses import asdict, dataclass, replace
from itertools import combinations

from tamis.bench.results import Point, Result, points

METRICS = ("batch_us", "single_us", "first_stage_us", "build_s", "inserts_per_s", "removals_per_s", "bytes_held")
EXACT = 12
LIKELY = 0.02


@dataclass(frozen=True, slots=True)
class Change:
    """A metric of a run in both sets; `probability` that samples differ so much by chance alone."""

    what: str
    metric: str
    before: float
    after: float
    probability: float

    @property
    def factor(self) -> float:
        """After over before."""
        return self.after / self.before if self.before else math.inf

    def significant(self, threshold: float) -> bool:
        """More than noise."""
        beyond = max(self.factor, 1 / self.factor if self.factor else math.inf) > threshold
        return beyond and self.probability <= LIKELY

    @property
    def better(self) -> bool:
        """Whether the change is for the better."""
        return (self.factor > 1) is self.metric.endswith("_per_s")


def compare(before: list[Result], after: list[Result]) -> list[Change]:
    """Every metric of every run that both sets have."""
    first, second = ({identity(point): point for point in points(results)} for results in (before, after))
    return [
        Change(
            f"{mine.run}",
            metric,
            statistics.median(mine.samples[metric]),
            statistics.median(theirs.samples[metric]),
            chance(mine.samples[metric], theirs.samples[metric]),
        )
        for key, mine in first.items()
        if (theirs := second.get(key)) is not None
        for metric in METRICS
        if metric in mine.samples and metric in theirs.samples
    ]


def identity(point: Point) -> str:
    """What makes two points the same, whatever version measured them."""
    return json.dumps([asdict(replace(point.run, repeat=0)), point.series, point.parameters], sort_keys=True)


def chance(first: list[float], second: list[float]) -> float:
    """Two-sided probability of Mann-Whitney's U under the assumption that nothing changed.

    With one sample each, as for sizes in bytes, any difference counts.
    """
    if len(first) == 1 and len(second) == 1:
        return 1.0 if first == second else 0.0
    u = statistic(first, second)
    mean = len(first) * len(second) / 2
    if len(first) + len(second) <= EXACT:
        together = first + second
        extreme = total = 0
        for chosen in combinations(range(len(together)), len(first)):
            taken = set(chosen)
            mine = [together[i] for i in chosen]
            rest = [value for i, value in enumerate(together) if i not in taken]
            extreme += abs(statistic(mine, rest) - mean) >= abs(u - mean)
            total += 1
        return extreme / total
    deviation = math.sqrt(len(first) * len(second) * (len(first) + len(second) + 1) / 12)
    return math.erfc(max(0.0, abs(u - mean) - 0.5) / deviation / math.sqrt(2))


def statistic(first: list[float], second: list[float]) -> float:
    """How many pairs have the larger value on the left; ties count half."""
    return sum((a > b) + (a == b) / 2 for a in first for b in second)
