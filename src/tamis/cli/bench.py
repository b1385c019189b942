"""`tamis bench`: measurements, kept as raw results."""

from pathlib import Path
from typing import Annotated

import typer

bench = typer.Typer(help="Measure engines on standard workloads.", no_args_is_help=True, rich_markup_mode=None)


@bench.callback()
def group() -> None:
    """Measure engines on standard workloads."""


@bench.command()
def run(
    suite: Annotated[str, typer.Argument(help="The suite: reference.")],
    profile: Annotated[str, typer.Option(help="quick (100,000 subscriptions) or full (up to 10,000,000).")] = "quick",
    engine: Annotated[
        list[str] | None, typer.Option(help="Engines to measure, each checked against scan first.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Where raw results are kept.")] = Path("results"),
) -> None:
    """Run a suite, print its medians, and keep the raw results.

    \b
    Example:
      tamis bench run reference --profile quick --engine tamis --engine counting
    """
    from tamis.bench.results import keep
    from tamis.bench.suites import reference

    suites = {"reference": reference.run}
    if suite not in suites:
        raise typer.BadParameter(f"there is no suite {suite!r} (suites: {', '.join(suites)})")
    if profile not in ("quick", "full"):
        raise typer.BadParameter(f"there is no profile {profile!r} (profiles: quick, full)")
    rows = []
    typer.echo(
        f"{'workload':16}{'engine':14}{'build s':>9}{'batch µs':>10}{'single µs':>11}{'bytes/sub':>11}{'matches':>9}"
    )
    for row in suites[suite](engine or ["tamis"], profile):
        rows.append(row)
        figures = f"{row['build_seconds']:9.2f}{row['batch_us']:10.1f}{row['single_us']:11.1f}"
        sizes = f"{row['bytes_per_subscription']:11.0f}{row['matches_per_event']:9.1f}"
        typer.echo(f"{row['workload']:16}{row['engine']:14}{figures}{sizes}")
    typer.echo(f"raw results: {keep(results, suite, profile, rows)}")
