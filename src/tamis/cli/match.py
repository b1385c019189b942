"""`tamis match`: which subscriptions does each event of a file satisfy?"""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import EngineName, EngineOptions, StdinFormat, Strict, TypeFile, engine_options, read_type
from tamis.cli.problems import Problems, counted, tell
from tamis.cli.progress import progress
from tamis.cli.source import Source, source
from tamis.errors import DataError, EventError, TamisError

if TYPE_CHECKING:
    from tamis.cli.readers import Row
    from tamis.matcher import Matcher


def match(
    subscriptions: Annotated[
        str, typer.Option("--subscriptions", "-s", metavar="FILE", help="Rows of id and filter, or one filter a line.")
    ],
    events: Annotated[str, typer.Option("--events", "-e", metavar="FILE", help="Events; `-` is standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="JSONL or Parquet; `-` is standard output, as JSONL.")
    ] = "-",
    engine: EngineName = None,
    option: EngineOptions = None,
    type: TypeFile = None,
    format: StdinFormat = "jsonl",
    strict: Strict = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Match the events of a file against the subscriptions of another.

    Files are CSV, JSONL or Parquet by their names' endings. Subscriptions have the columns id and filter; a .txt file
    has one filter a line. Events have a column per attribute. Rows that cannot be used are told with their line and
    left out, and the exit status is then 1.

    \b
    Example:
      tamis match --subscriptions subs.csv --events events.jsonl
      zcat events.jsonl.gz | tamis match -s subs.parquet -e - -o matches.parquet
    """
    from tamis.cli.writers import check_output

    if subscriptions == events == "-":
        raise DataError("subscriptions and events cannot both come from standard input")
    conditions, stream = source(subscriptions, format), source(events, format)
    check_output(output, (subscriptions, events))
    problems = Problems(strict)
    matcher = new_matcher(engine, type, engine_options(option))
    subscribe_all(matcher, conditions, problems, shown=not quiet)
    start = perf_counter()
    count, found = match_all(matcher, stream, output, problems, shown=not quiet)
    if not quiet:
        done = (counted(len(matcher), "subscription"), counted(count, "event"), counted(found, "match", "matches"))
        tell(f"{', '.join(done)} in {perf_counter() - start:.2f} s ({matcher.engine_name})")
    if problems.count:
        tell(f"tamis: left out {counted(problems.count, 'bad row')}")
        raise typer.Exit(1)


def new_matcher(engine: str | None, type_file: str | None, options: dict[str, Any]) -> "Matcher":
    """A matcher as the options ask for it."""
    from tamis.engines.registry import DEFAULT
    from tamis.matcher import Matcher

    return Matcher(engine or DEFAULT, type=read_type(type_file), **options)


def subscribe_all(matcher: "Matcher", origin: Source, problems: Problems, shown: bool = False) -> None:
    """Subscribe every row of a source; those refused become problems."""
    from tamis.cli.records import subscriptions

    lines: list[int] = []

    def pairs(advance: Callable[[int], None]) -> Iterator[tuple[str | int, str]]:
        for row in subscriptions(origin, problems, advance):
            lines.append(row.line)
            yield row.id, row.filter

    def refuse(position: int, id: str | int, error: TamisError) -> None:
        problems.add(origin.label, lines[position], f"{id!r}: {error}")

    with progress("subscribing", origin.size, shown) as advance:
        matcher.subscribe_many(pairs(advance), refuse)


def match_all(
    matcher: "Matcher", origin: Source, output: str, problems: Problems, shown: bool = False
) -> tuple[int, int]:
    """Match every event of a source and write the outcome; returns how many events and matches there were."""
    from tamis.cli.records import events
    from tamis.cli.writers import writer

    count = found = 0
    integers = all(isinstance(id, int) for id in matcher)
    with progress("matching", origin.size, shown) as advance, writer(output, integers) as out:
        for chunk in events(origin, matcher.type, problems, advance):
            rows, matches = match_chunk(matcher, chunk, origin.label, problems)
            out.write([row.number for row in rows], matches)
            count += len(rows)
            found += sum(map(len, matches))
    return count, found


def match_chunk(
    matcher: "Matcher", chunk: "list[Row]", name: str, problems: Problems
) -> "tuple[list[Row], list[list[str | int]]]":
    """The events that are well-formed and the ids each matched."""
    try:
        return chunk, matcher.match_many([row.data for row in chunk])
    except EventError:
        # Only now is it worth looking at each event by itself.
        good = [row for row in chunk if is_event(matcher, row, name, problems)]
        return good, matcher.match_many([row.data for row in good])


def is_event(matcher: "Matcher", row: "Row", name: str, problems: Problems) -> bool:
    """Whether a row is an event of the matcher's type; if not, it becomes a problem."""
    from tamis.model.event import normalise

    try:
        normalise(row.data, matcher.type, matcher.limits)
    except EventError as error:
        problems.add(name, row.line, str(error))
        return False
    return True
