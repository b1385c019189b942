"""`tamis explain`: why does an event match a condition, or why not?"""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import TypeFile, read_text_file
from tamis.errors import DataError, EventError

if TYPE_CHECKING:
    from rich.text import Text

COLOURS = {"✓": "green", "✗": "red", "?": "yellow"}


def explain(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="A JSON object, @FILE, or `-` for standard input.")],
    filter: Annotated[list[str] | None, typer.Option("--filter", "-f", metavar="TEXT", help="A condition.")] = None,
    subscriptions: Annotated[
        str | None, typer.Option("--subscriptions", "-s", metavar="FILE", help="Rows of id and filter.")
    ] = None,
    id: Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="Only this subscription.")] = None,
    type: TypeFile = None,
    json: Annotated[bool, typer.Option("--json", help="As data, one JSON object a line.")] = False,
) -> None:
    """Show why an event matches a condition, or why not.

    Each predicate stands on a line with ✓ (true), ✗ (false) or ? (unknown: the attribute is absent, and unknown never matches).

    \b
    Example:
      tamis explain '{"item": "camera", "price": 399}' --filter "item = 'camera' and price < 300"
      tamis explain @event.json --subscriptions subs.csv --id alice
    """
    from tamis.cli.match import new_matcher, subscribe_all
    from tamis.cli.problems import Problems
    from tamis.cli.source import source

    if not filter and not subscriptions:
        raise DataError("nothing to explain: give --filter TEXT or --subscriptions FILE")
    data = given_event(event)
    matcher = new_matcher(None, type, {})
    for number, text in enumerate(filter or [], 1):
        matcher.subscribe("the filter" if len(filter or []) == 1 else f"filter {number}", text)
    problems = Problems()
    if subscriptions:
        subscribe_all(matcher, source(subscriptions), problems)
    known = {str(name): name for name in matcher}
    for missing in (name for name in id or [] if name not in known):
        raise DataError(f"{subscriptions}: there is no subscription {missing!r}")
    for name in [known[chosen] for chosen in id] if id else known.values():
        told = matcher.explain(name, data)
        if json:
            print_json({"id": name, "matched": told.matched, "explanation": told.data})
        else:
            print_tree(told.text)
    if problems.count:
        raise typer.Exit(1)


def given_event(given: str) -> Any:
    """The event a user gave, in whichever way."""
    from tamis.lang.events import read_event

    if given == "-":
        text = sys.stdin.buffer.read()
    elif given.startswith("@"):
        text = read_text_file(given[1:]).encode()
    else:
        text = given.encode("utf-8", "surrogateescape")
    try:
        return read_event(text)
    except EventError as error:
        raise EventError(f"the event: {error}") from None


def print_json(data: dict[str, Any]) -> None:
    """One line of JSON."""
    import msgspec

    typer.echo(msgspec.json.encode(data).decode())


def print_tree(text: str) -> None:
    """A tree of an explanation, in colour on a terminal."""
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    for line in text.splitlines():
        console.print(coloured(line))


def coloured(line: str) -> "Text":
    """One line, in the colour of its mark."""
    from rich.text import Text

    first = line.lstrip("│├└─ ")[:1]
    return Text(line, style=COLOURS.get(first, "bold"))
