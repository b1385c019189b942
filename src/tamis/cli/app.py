"""The command line as a whole: the list of commands, and what happens when one fails."""

import atexit
import gc
import logging
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

from tamis import __version__
from tamis.cli.bench import bench
from tamis.cli.check import check
from tamis.cli.demo import demo
from tamis.cli.engines import engines
from tamis.cli.explain import explain
from tamis.cli.match import match
from tamis.cli.pipeline import pipeline
from tamis.cli.problems import tell
from tamis.cli.publish import publish
from tamis.cli.serve import serve
from tamis.cli.subscribe import subscribe
from tamis.cli.tail import tail
from tamis.cli.warm import warm
from tamis.errors import TamisError

# Plain help: loading the decorated kind takes longer than the help may take altogether.
app = typer.Typer(
    help="Content-based publish/subscribe: standing conditions, matched as events arrive.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (match, explain, check, engines, demo, serve, publish, subscribe, tail, warm):
    app.command()(command)
app.add_typer(bench, name="bench")
app.add_typer(pipeline, name="pipeline")


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """Options of tamis itself."""
    if version:
        typer.echo(f"tamis {__version__}")
        raise typer.Exit


def announce_compiling() -> None:
    """Show what the kernels' logger has to say: it would be strange to wait for a minute and not know why."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("tamis: %(message)s"))
    logger = logging.getLogger("tamis.kernels")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


def end_at_once() -> None:
    """Python would search all that Numba made for cycles before it ends, for a third of a second. DuckDB counts what it made,
    and complains of what is not taken apart."""
    if "_duckdb" not in sys.modules:
        gc.freeze()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what goes wrong on a user's side ends in one message and exit status 1, bad usage in 2."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a sign shows ? instead of failing
    announce_compiling()
    atexit.register(end_at_once)
    try:
        app(args=arguments, prog_name="tamis")
    except TamisError as error:
        tell(f"tamis: {error}")
        sys.exit(1)
    except OSError as error:
        tell(f"tamis: {error.filename or 'writing'}: {(error.strerror or str(error)).lower()}")
        sys.exit(1)
