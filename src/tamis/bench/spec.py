"""Suites as data: read from TOML, expanded into runs.

[engines."bit matrix"]           a label, and what it stands for
engine = "counting"
options = {association = "bitmatrix"}
most = {quick = 100_000}         no workload with more subscriptions than this

[[groups]]                       runs that belong together
name = "scaling"
workload = {kind = "topss", attributes = 10}
chosen = ["attributes"]          parameters the paper's text does not give legibly, chosen here
engines = ["bit matrix", "lists"]
quick = {subscriptions = [1000, 100_000]}
full = {subscriptions = [1000, 5_000_000]}

[[figures]]                      a view of a group: x is a parameter, y a metric
[[claims]]                       what the paper says, and the test that decides whether it holds here
"""

import itertools
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from tamis.bench.results import Run
from tamis.engines.registry import ENGINES
from tamis.errors import DataError, EngineError, nearest

PROFILES = ("quick", "full")
ALL = "all"
UNSHOWN = {"naive without memo"}
"""Series of experiments that figures show only when they list them."""


SHOWN = ("sample", "baseline")
"""Settings of a choice that become settings of its runs."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine under a label; `most` bounds the subscriptions it is given, by profile; `sample`: it sees events first;
    `baseline`: it takes turns with the simplest fast matcher."""

    label: str
    engine: str
    options: dict[str, Any] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    sample: int = 0
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Runs over one family of workloads. `cases` are alternatives to each other (`most`: no more subscriptions in this one),
    `quick` and `full` lists to be combined, `options` lists of engine options to be combined with them."""

    name: str
    title: str
    workload: dict[str, Any]
    engines: list[str] = field(default_factory=list)
    kind: str = "match"
    chosen: list[str] = field(default_factory=list)
    cases: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    quick: dict[str, list[Any]] = field(default_factory=dict)
    full: dict[str, list[Any]] = field(default_factory=dict)
    options: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    overview: dict[str, Any] = field(default_factory=dict)

    def workloads(self, profile: str) -> list[dict[str, Any]]:
        """Every combination of the profile's lists, for every case."""
        points = combined(self.quick if profile == "quick" else self.full)
        found = [self.workload | case | point for case in self.cases.get(profile, [{}]) for point in points]
        fitting = [point for point in found if point.get("subscriptions", 0) <= point.get("most", 1 << 62)]
        return [{name: value for name, value in point.items() if name != "most"} for point in fitting]


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot: `y` over `x`, one line per series; `paper` holds published points, `where` selects workloads."""

    id: str
    title: str
    group: str
    x: str
    y: str
    x_title: str
    y_title: str
    log: str = ""
    bars: bool = False
    where: dict[str, Any] = field(default_factory=dict)
    series: list[str] = field(default_factory=list)
    split: str = ""
    paper: list[dict[str, Any]] = field(default_factory=list)
    paper_note: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a paper and the test that decides it; see `claims`. `paper`: the number it gives."""

    text: str
    figure: str
    test: dict[str, Any]
    paper: str = "in words only"


@dataclass(frozen=True, slots=True)
class Suite:
    """Everything a TOML file says."""

    name: str
    title: str
    source: str
    about: str
    engines: dict[str, Choice]
    groups: list[Group]
    figures: list[Figure]
    claims: list[Claim]

    @property
    def series(self) -> set[str]:
        """Names of series that are the suite's own."""
        named = {name for figure in self.figures for name in figure.series}
        return named | self.engines.keys() | UNSHOWN


def suite_names() -> list[str]:
    """The suites of this package, in the order of their files."""
    folder = resources.files("tamis.bench") / "suites"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def load_suite(name: str) -> Suite:
    """A suite of this package by name, or one of your own by its file."""
    if name.endswith(".toml"):
        return parse_suite(Path(name).stem, read_text(Path(name)))
    known = suite_names()
    if name not in known:
        raise DataError(f"there is no suite {name!r}{nearest(name, known)} (suites: {', '.join(known)})")
    return parse_suite(name, (resources.files("tamis.bench") / "suites" / f"{name}.toml").read_text())


def read_text(file: Path) -> str:
    """A file's text, or a DataError that names it."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as problem:
        raise DataError(f"{file}: {(problem.strerror or 'cannot be read').lower()}") from None


def parse_suite(name: str, text: str) -> Suite:
    """A suite from its TOML text; a mistake in it is named."""
    try:
        data = tomllib.loads(text)
        engines = {label: Choice(label, **given) for label, given in data.pop("engines", {}).items()}
        groups = [Group(**given) for given in data.pop("groups")]
        figures = [Figure(**given) for given in data.pop("figures", [])]
        claims = [Claim(**given) for given in data.pop("claims", [])]
        suite = Suite(name, engines=engines, groups=groups, figures=figures, claims=claims, **data)
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as problem:
        raise DataError(f"suite {name!r}: {problem}") from problem
    for wanted, where, known in (
        *((label, f"group {g.name!r}", suite.engines) for g in groups for label in g.engines),
        *((f.group, f"figure {f.id!r}", [g.name for g in groups]) for f in figures),
        *((c.figure, f"claim {c.text!r}", [f.id for f in figures]) for c in claims),
    ):
        if wanted not in known:
            raise DataError(f"suite {name!r}: {where} names {wanted!r}, which is not there{nearest(wanted, known)}")
    return suite


def chosen_suites(names: list[str]) -> list[Suite]:
    """Suites by name; `all` is every one."""
    wanted = suite_names() if ALL in names else list(dict.fromkeys(names))
    return [load_suite(name) for name in wanted]


def plan(suite: Suite, profile: str, engines: list[str] | None = None, seed: int = 1, repeats: int = 1) -> list[Run]:
    """The runs of a suite, each in so many processes as `repeats` says. With `engines`, only those: by label, or by
    registered name, which also adds an engine that the suite does not list to each of its plots; experiments that put no
    engine of choice on anything are left out then."""
    if profile not in PROFILES:
        raise DataError(f"there is no profile {profile!r}{nearest(profile, PROFILES)} (profiles: quick, full)")
    known = list(dict.fromkeys([*suite.engines, *ENGINES]))
    for name in engines or []:
        if name not in known:
            where = f"suite {suite.name!r} and the registry know: {', '.join(known)}"
            raise EngineError(f"there is no engine {name!r}{nearest(name, known)} ({where})")
    runs = []
    for group in suite.groups:
        matching = group.kind == "match"
        choices = [suite.engines[label] for label in group.engines] if matching else [Choice(group.kind, group.kind)]
        if engines:
            choices = selected(choices, engines) if matching else []
        varied = combined(group.options.get(profile, {}))
        for workload, choice, options in itertools.product(group.workloads(profile), choices, varied):
            if workload.get("subscriptions", 0) <= choice.most.get(profile, 1 << 62):
                settings = dict(group.settings.get(profile, {}))
                settings |= {name: value for name in SHOWN if (value := getattr(choice, name))}
                told = (choice.label, choice.engine, choice.options | options, workload, settings, seed)
                runs += [Run(suite.name, profile, group.name, group.kind, *told, repeat) for repeat in range(repeats)]
    return runs


def combined(lists: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination of one value from each list."""
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]


def selected(choices: list[Choice], names: list[str]) -> list[Choice]:
    """The choices asked for by label or engine name; a registered engine that is not among them joins with defaults."""
    found = [choice for choice in choices if choice.label in names or choice.engine in names]
    there = {choice.label for choice in found} | {choice.engine for choice in found}
    return found + [Choice(name, name) for name in names if name in ENGINES and name not in there]
