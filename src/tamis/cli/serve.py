"""`tamis serve`: a broker on this machine, with nothing else installed or running."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tamis.cli.options import EngineName, TypeFile, read_type
from tamis.errors import DataError, MissingExtra


def serve(
    data: Annotated[
        str, typer.Option("--data", "-d", metavar="DIRECTORY", help="Where everything is kept.")
    ] = "tamis-data",
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 is every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
    api_keys: Annotated[
        str | None, typer.Option("--api-keys", metavar="FILE", help="Keys that may publish and subscribe, one a line.")
    ] = None,
    loopback_webhooks: Annotated[
        bool, typer.Option("--loopback-webhooks", help="Let webhooks call this machine; for trying things out.")
    ] = False,
    operators: Annotated[
        bool,
        typer.Option("--operators", help="Let conditions use operators, which run code of this machine on events."),
    ] = False,
    engine: EngineName = None,
    type: TypeFile = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
) -> None:
    """Run a broker: subscribe, publish and get notified over HTTP.

    Everything that was acknowledged is on the disk and is there again after a restart. Ctrl-C stops in order.

    \b
    Example:
      tamis serve --data ./tamis-data
      curl --json '{"filter": "price < 300"}' http://127.0.0.1:8080/v1/subscriptions
    """
    try:
        from tamis.broker import logs
        from tamis.broker.server import serve as run
        from tamis.broker.service import Service
    except ModuleNotFoundError as problem:
        raise MissingExtra("the broker", "server") from problem
    from tamis.broker.settings import Settings
    from tamis.operators import OPERATORS, Registry

    if log_level not in ("debug", "info", "warning", "error"):
        raise DataError("--log-level is debug, info, warning or error")
    logs.set_up(log_level, people=sys.stderr.isatty())
    settings = Settings(
        api_keys=read_keys(api_keys),
        loopback_webhooks=loopback_webhooks,
        type=read_type(type),
        operators=OPERATORS if operators else Registry(),
    )
    run(Service(data, settings, engine), host, port)


def read_keys(name: str | None) -> tuple[bytes, ...]:
    """Digests of the keys in a file; blank lines and lines starting with # are skipped."""
    from tamis.broker.tickets import digest

    if name is None:
        return ()
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise DataError(f"{name}: {(problem.strerror or 'cannot be read').lower()}") from None
    found = tuple(digest(line.strip()) for line in lines if line.strip() and not line.startswith("#"))
    if not found:
        raise DataError(f"{name}: there is no key in it")
    return found
