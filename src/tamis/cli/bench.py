"""`tamis bench`: measurements, kept as raw results; reports and comparisons derived from them."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

    from tamis.bench.results import Result, Run

bench = typer.Typer(help="Measure engines on standard workloads.", no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[Path, typer.Option("--results", "-r", help="Where raw results are kept.")]
RESULTS = Path("results")


@bench.callback()
def group() -> None:
    """Measure engines on standard workloads, and show what came of it."""


@bench.command("list")
def list_suites() -> None:
    """List the suites, their runs and their sources.

    \b
    Example:
      tamis bench list
    """
    from tamis.bench.spec import chosen_suites, plan

    typer.echo(f"{'suite':22}{'quick':>6}{'full':>6}  what")
    for suite in chosen_suites(["all"]):
        counts = f"{len(plan(suite, 'quick')):6}{len(plan(suite, 'full')):6}"
        typer.echo(f"{suite.name:22}{counts}  {suite.title} [{suite.source}]")


@bench.command()
def run(
    suites: Annotated[list[str], typer.Argument(help="Names of suites, all, or a TOML file of your own.")],
    profile: Annotated[
        str, typer.Option(help="quick (minutes) or full (hours; can be stopped and resumed).")
    ] = "quick",
    engine: Annotated[
        list[str] | None,
        typer.Option(help="Only these, by label or name; an engine a suite does not list joins each of its plots."),
    ] = None,
    results: Folder = RESULTS,
    repeat: Annotated[int, typer.Option(min=1, help="Processes per run; more make `compare` trustworthy.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is there already.")] = False,
    dsn: Annotated[str, typer.Option(help="A PostgreSQL server; otherwise a private one is started.")] = "",
) -> None:
    """Run suites and keep the raw results. What was measured before is skipped, so a stopped run can be taken up again.

    \b
    Example:
      tamis bench run all --profile quick
      tamis bench run topss-subscriptions --profile full
      tamis bench run all --engine mine
    """
    from tamis.bench.rehearsal import make_ready
    from tamis.bench.results import OK
    from tamis.bench.runner import run_all
    from tamis.bench.spec import chosen_suites, plan

    runs = [each for suite in chosen_suites(suites) for each in plan(suite, profile, engine, repeats=repeat)]
    display, bad = Display(runs), 0
    before = partial(make_ready, typer.echo)
    try:
        with display:
            going = run_all(runs, results, dsn=dsn, fresh=fresh, before=before, begin=display.begin)
            for each, result, known in going:
                display.told(each, result, known)
                bad += result.status != OK
    except KeyboardInterrupt:
        typer.echo(
            f"\nstopped; {display.done} of {len(runs)} runs are done. The same command goes on from here.", err=True
        )
        raise typer.Exit(130) from None
    left = f"; {bad} without times, the report says why" if bad else ""
    typer.echo(f"{len(runs)} runs, {display.skipped} of them done before{left}. Raw results: {results / profile}")


@bench.command()
def report(
    results: Folder = RESULTS,
    profile: Annotated[str, typer.Option(help="quick or full; the one there is, otherwise quick.")] = "",
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write to.")] = Path("report"),
    suite: Annotated[list[str] | None, typer.Option(help="Only these suites; or a TOML file of your own.")] = None,
) -> None:
    """Draw every figure from raw results: one HTML page that opens offline, and PNGs beside it.

    \b
    Example:
      tamis bench report
      tamis bench report --profile full --out docs/results
    """
    from tamis.bench.report import write_report
    from tamis.bench.results import read_all
    from tamis.bench.spec import PROFILES, chosen_suites
    from tamis.errors import DataError

    there = [name for name in PROFILES if (results / name).is_dir()]
    chosen = profile or (there[0] if there else "quick")
    found, skipped = read_all(results / chosen)
    for line in skipped:
        typer.echo(f"skipped: {line}", err=True)
    if not found:
        raise DataError(f"there is no usable result in {results / chosen}; make some with: tamis bench run reference")
    page = write_report(chosen_suites(suite or ["all"]), found, skipped, chosen, out)
    typer.echo(f"report: {page}")


@bench.command()
def compare(
    before: Annotated[Path, typer.Argument(help="A folder of results.")],
    after: Annotated[Path, typer.Argument(help="Another one, of the same suites.")],
    threshold: Annotated[float, typer.Option(min=1.0, help="Smaller factors are never called a change.")] = 1.1,
    every: Annotated[bool, typer.Option("--all", help="Show also what did not change.")] = False,
) -> None:
    """Compare two sets of results, telling changes from noise.

    \b
    Example:
      tamis bench run reference --repeat 3 --results before
      (change something)
      tamis bench run reference --repeat 3 --results after
      tamis bench compare before after
    """
    from tamis.bench.compare import LIKELY, compare
    from tamis.bench.results import read_all

    (first, skipped), (second, more) = (read_all(folder, any_version=True) for folder in (before, after))
    for line in [*skipped, *more]:
        typer.echo(f"skipped: {line}", err=True)
    changes = compare(first, second)
    shown = [change for change in changes if every or change.significant(threshold)]
    typer.echo(f"{'factor':>8}{'p':>8}  {'metric':16}{'before':>12}{'after':>12}  run")
    for change in sorted(shown, key=lambda change: change.factor):
        verdict = ("better" if change.better else "worse") if change.significant(threshold) else "noise"
        numbers = f"{change.factor:8.3f}{change.probability:8.3f}  {change.metric:16}{change.before:12.4g}{change.after:12.4g}"
        typer.echo(f"{numbers}  {change.what}  {verdict}")
    significant = sum(change.significant(threshold) for change in changes)
    typer.echo(
        f"{significant} of {len(changes)} comparisons changed by more than {threshold:g} times beyond noise (p ≤ {LIKELY}); "
        f"by chance alone up to {LIKELY * len(changes):.0f} would differ significantly"
    )


class Display:
    """Runs as they go: a bar on a terminal, a line each elsewhere."""

    def __init__(self, runs: "list[Run]") -> None:
        self.total, self.done, self.skipped = len(runs), 0, 0
        self.bar: Progress | None = None

    def __enter__(self) -> "Display":
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("", total=self.total)
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def begin(self, run: "Run") -> None:
        """A run starts."""
        if self.bar is not None:
            self.bar.update(self.task, description=str(run))

    def told(self, run: "Run", result: "Result", known: bool) -> None:
        """A run is done."""
        self.done += 1
        self.skipped += known
        if self.bar is not None:
            self.bar.advance(self.task)
        line = outcome(result)
        if not known and (self.bar is None or result.reason):
            typer.echo(f"[{self.done}/{self.total}] {result.seconds:5.1f} s  {run}  {line}", err=self.bar is not None)


def outcome(result: "Result") -> str:
    """A few words on a result."""
    from tamis.bench.claims import number
    from tamis.bench.results import OK, points

    if result.status != OK:
        return f"{result.status}: {result.reason}"
    told = [
        f"{metric} {number(value)}"
        for point in points([result])[:1]
        for metric in ("batch_us", "single_us", "build_s", "evaluated", "events_per_second")
        if (value := point.metric(metric)) is not None
    ]
    return "  ".join(told)
