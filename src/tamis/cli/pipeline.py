"""`tamis pipeline`: generate, profile, compile, match and report in bulk, on Spark."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from rich.console import RenderableType

pipeline = typer.Typer(help="Match in bulk on Spark: generate, profile, compile, match, report.", no_args_is_help=True)
MARKS = {"waiting": "[dim]·[/]", "done": "[green]✓[/]", "skipped": "[cyan]↷[/]", "failed": "[red]✗[/]"}


@pipeline.command()
def init(
    spec: Annotated[Path, typer.Argument(help="The file to write.", dir_okay=False)] = Path("pipeline.toml"),
) -> None:
    """Write an example specification to start from.

    \b
    Example:
      tamis pipeline init market.toml
      tamis pipeline run market.toml
    """
    from tamis.spark.spec import EXAMPLE

    if spec.exists():
        raise DataError(f"{spec} exists already; choose another name")
    spec.write_text(EXAMPLE.format(name=spec, stem=spec.stem))
    typer.echo(f"wrote {spec}; run it with: tamis pipeline run {spec}")


@pipeline.command()
def run(
    spec: Annotated[Path, typer.Argument(help="A specification, as `tamis pipeline init` writes one.", dir_okay=False)],
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier runs instead of going on from them.")] = False,
) -> None:
    """Run all stages; those done before, with the same inputs, are skipped.

    \b
    Example:
      tamis pipeline run pipeline.toml
      tamis pipeline run pipeline.toml --fresh
    """
    from tamis.spark.spec import read_spec

    described = read_spec(spec)
    from tamis.spark.pipeline import STAGES, Pipeline

    with Display(STAGES) as display:
        report = Pipeline(described, display.told).run(fresh)
    typer.echo(f"report: {report}")


@pipeline.command()
def bench(
    subscriptions: Annotated[int, typer.Option(min=1, help="How many to compile.")] = 100_000,
    events: Annotated[int, typer.Option(min=1, help="How many to match.")] = 100_000,
    baseline: Annotated[int, typer.Option(min=0, help="Events and subscriptions of the baselines; 0: none.")] = 5000,
    master: Annotated[str, typer.Option(help="local[N]: how many cores to use.")] = "local[2]",
    memory: Annotated[str, typer.Option(help="Memory of the driver.")] = "2g",
    engine: Annotated[str | None, typer.Option(help="An engine; the default one otherwise.")] = None,
    place: Annotated[Path | None, typer.Option(help="A directory for the data; a temporary one otherwise.")] = None,
    texts: Annotated[bool, typer.Option(help="Also compile the subscriptions from text of 50 shapes.")] = True,
) -> None:
    """Measure compile and match from Parquet to Parquet, the kernel alone, memory, and the baselines; prints JSON.

    \b
    Example:
      tamis pipeline bench --subscriptions 1000000 --events 1000000
    """
    import json
    import tempfile

    from tamis.bench.results import machine
    from tamis.spark import Workload, local_session

    try:
        from tamis.spark.measure import Bench
    except ModuleNotFoundError as problem:
        raise MissingExtra("tamis pipeline bench", "bench") from problem

    where = place or Path(tempfile.mkdtemp(prefix="tamis-bench-"))
    spark = local_session(master, memory)
    options = {"engine": engine} if engine else {}

    def told(step: str, figures: dict[str, Any]) -> None:
        rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in figures.items()}
        typer.echo(f"{step}: {listed(rounded)}", err=True)

    measurement = Bench(spark, where, Workload(), subscriptions, events, cores_of(master), options)
    found = measurement.run(texts, baseline, told)
    typer.echo(json.dumps({"machine": machine(), **found}, indent=1))


def cores_of(master: str) -> int:
    """How many cores a local master uses."""
    found = re.fullmatch(r"local\[(\d+)\]", master)
    if found is None:
        raise DataError(f"--master is local[N] here, with a number of cores, not {master!r}")
    return int(found[1])


class Display:
    """Stages with their states: live on a terminal, line by line elsewhere."""

    def __init__(self, stages: tuple[str, ...]) -> None:
        self.states: dict[str, tuple[str, dict[str, Any]]] = dict.fromkeys(stages, ("waiting", {}))
        self.live: Any = None

    def __enter__(self) -> "Display":
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self.live = Live(console=Console(stderr=True), get_renderable=self.render, refresh_per_second=8)
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def told(self, stage: str, state: str, facts: dict[str, Any]) -> None:
        """A stage changed its state."""
        self.states[stage] = (state, facts)
        if self.live is None and state != "running":
            typer.echo(f"{stage:9} {state:8} {listed(facts)}".rstrip())

    def render(self) -> "RenderableType":
        """The present state of all stages."""
        from rich.spinner import Spinner
        from rich.table import Table

        table = Table.grid(padding=(0, 1))
        for stage, (state, facts) in self.states.items():
            mark: Any = self.spinner(stage, Spinner) if state == "running" else MARKS[state]
            table.add_row(mark, f"[bold]{stage}[/]", f"[dim]{listed(facts)}[/]")
        return table

    def spinner(self, stage: str, kind: Any) -> Any:
        """One spinner per stage, so that it turns instead of starting anew."""
        spinners = self.__dict__.setdefault("spinners", {})
        return spinners.setdefault(stage, kind("dots"))


def listed(facts: dict[str, Any]) -> str:
    """Facts on one line."""
    return "  ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in facts.items()
    )
