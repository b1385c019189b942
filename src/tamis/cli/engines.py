"""`tamis engines`: what there is to choose from, and which to choose."""

from dataclasses import MISSING, fields
from itertools import islice
from typing import Annotated

import typer

from tamis.cli.options import StdinFormat, TypeFile

SAMPLED = 200


def engines(
    subscriptions: Annotated[
        str | None, typer.Option("--subscriptions", "-s", metavar="FILE", help="Suggest an engine for these.")
    ] = None,
    events: Annotated[
        str | None,
        typer.Option("--events", "-e", metavar="FILE", help="Events like those to come; the first are read."),
    ] = None,
    batch: Annotated[int, typer.Option(help="Events matched per call.")] = 1,
    updates: Annotated[float, typer.Option(help="Subscriptions replaced per event.")] = 0.0,
    type: TypeFile = None,
    format: StdinFormat = "jsonl",
) -> None:
    """List the engines to choose from, with their options; or suggest one for given subscriptions.

    \b
    Example:
      tamis engines
      tamis engines --subscriptions subs.csv --events events.jsonl --batch 1000
      tamis match --engine scan --subscriptions subs.csv --events events.jsonl
    """
    if subscriptions is not None:
        suggest(subscriptions, events, batch, updates, type, format)
    elif events is not None:
        raise typer.BadParameter("events alone suggest nothing; name the --subscriptions too")
    else:
        list_all()


def suggest(
    subscriptions: str, events: str | None, batch: int, updates: float, type_file: str | None, format: str
) -> None:
    """Say which engine suits, why, and what the others would cost."""
    from tamis.cli.match import is_event, subscribe_all
    from tamis.cli.options import read_type
    from tamis.cli.problems import Problems
    from tamis.cli.records import events as read_events
    from tamis.cli.source import source
    from tamis.matcher import Matcher
    from tamis.matcher.advice import Sample

    problems = Problems(strict=False)
    known = read_type(type_file)
    rows = []
    if events is not None:
        stream = source(events, format)
        chunks = read_events(stream, known, problems, lambda count: None)
        reader = Matcher("scan", type=known)
        rows = [
            r.data
            for r in islice((r for chunk in chunks for r in chunk), SAMPLED)
            if is_event(reader, r, stream.label, problems)
        ]
    matcher = Matcher("auto", type=known, sample=Sample(rows, batch=batch, updates=updates))
    subscribe_all(matcher, source(subscriptions, format), problems)
    matcher.stats()
    assert matcher.choice is not None
    typer.echo(matcher.choice.reason)
    for name, cost in sorted(matcher.choice.costs.items(), key=lambda pair: pair[1]):
        typer.echo(f"  {name:12} {cost / matcher.choice.costs[matcher.choice.engine]:5.1f} times its cost")


def list_all() -> None:
    """Every engine with its options."""
    from rich.console import Console
    from rich.text import Text

    from tamis.candidates.schedule.plan import RULES
    from tamis.engines.registry import DEFAULT, ENGINES, engine_class

    console = Console(highlight=False)
    width = max(map(len, ENGINES)) + 2
    for name in ENGINES:
        kind = engine_class(name)
        told = kind.capabilities
        options = [f.name if f.default is MISSING else f"{f.name}={f.default}" for f in fields(kind.options_type)]
        lines = [Text(told.summary), Text(f"from {told.source}", "dim")]
        if options:
            lines.append(Text(f"options: {', '.join(options)}", "dim"))
        if not told.incremental:
            lines.append(Text("built anew at every change of the subscriptions", "dim"))
        if name == DEFAULT:
            lines[0].append(" (default)", "green")
        for first, line in zip([name, *[""] * len(lines)], lines, strict=False):
            console.print(Text(f"{first:{width}}", "bold cyan"), line, sep="", soft_wrap=True)
    typer.echo("\nUse one with `tamis match --engine NAME --option NAME=VALUE`.")
    typer.echo(f"Conditions with operators are scheduled by --option schedule={'|'.join(RULES)} with any engine.")
