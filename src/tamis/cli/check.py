"""`tamis check`: are these filters well-formed?"""

from typing import Annotated

import typer

from tamis.cli.options import StdinFormat, TypeFile, read_type
from tamis.cli.problems import Problems, counted, tell
from tamis.cli.source import source
from tamis.errors import TamisError


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Rows of id and filter, or one filter a line.")],
    type: TypeFile = None,
    format: StdinFormat = "text",
) -> None:
    """Check a file of filters and show every error with its position.

    FILE is CSV, JSONL or Parquet with the columns id and filter, or text with one filter a line; `-` is standard input.

    \b
    Example:
      tamis check subs.csv
      echo "item = 'camera' and price <" | tamis check -
    """
    from tamis.cli.records import subscriptions
    from tamis.lang import bind, normalise, parse

    origin, declared = source(file, format), read_type(type)
    problems = Problems(shown=None)
    seen: dict[str | int, int] = {}
    for row in subscriptions(origin, problems):
        try:
            condition = parse(row.filter)
            normalise(bind(condition, declared) if declared else condition, declared)
        except TamisError as error:
            problems.add(origin.label, row.line, f"{row.id!r}: {error}")
        if row.id in seen:
            problems.add(origin.label, row.line, f"{row.id!r}: the id is taken by line {seen[row.id]}")
        seen.setdefault(row.id, row.line)
    if problems.count:
        tell(f"tamis: {counted(problems.count, 'problem')} in {origin.label}")
        raise typer.Exit(1)
    typer.echo(f"{counted(len(seen), 'filter')}, well-formed")
