"""Options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tamis.errors import DataError, MissingExtra, SchemaError

if TYPE_CHECKING:
    from tamis.broker.client import Client
    from tamis.model.schema import PublicationType

StdinFormat = Annotated[
    Literal["csv", "jsonl", "parquet", "text"], typer.Option("--format", help="Format of standard input (`-`).")
]
TypeFile = Annotated[
    str | None,
    typer.Option("--type", metavar="FILE", help="Publication type that filters and events must keep to."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first bad row instead of leaving it out.")]
EngineName = Annotated[str | None, typer.Option("--engine", metavar="NAME", help="Engine to use; see `tamis engines`.")]
EngineOptions = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Option of the engine; may be repeated.")
]

BrokerUrl = Annotated[
    str, typer.Option("--url", envvar="TAMIS_URL", metavar="URL", help="Where the broker is.", show_envvar=False)
]
BrokerKey = Annotated[
    str | None, typer.Option("--key", envvar="TAMIS_KEY", metavar="KEY", help="API key, where one is required.")
]


def engine_options(given: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` pairs as keywords, values read as JSON where they are JSON."""
    import msgspec

    options: dict[str, Any] = {}
    for pair in given or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise DataError(f"--option {pair}: write it as NAME=VALUE")
        try:
            options[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            options[name] = value
    return options


def read_text_file(name: str) -> str:
    """The text of a small file, or an error that says why there is none."""
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as problem:
        raise DataError(f"{name}: {(problem.strerror or 'cannot be read').lower()}") from None
    except UnicodeDecodeError:
        raise DataError(f"{name}: not UTF-8 text") from None


def read_type(name: str | None) -> "PublicationType | None":
    """The publication type declared in a file."""
    if name is None:
        return None
    from tamis.lang.types import parse_type

    try:
        return parse_type(read_text_file(name))
    except SchemaError as error:
        raise DataError(f"{name}: {error}") from None


def open_client(url: str, key: str | None) -> "Client":
    """A client of the broker at `url`, patient with one that is busy."""
    try:
        from tamis.broker.client import Client
    except ModuleNotFoundError as problem:
        raise MissingExtra("talking to a broker", "server") from problem
    return Client(url, key=key, patience=60)
