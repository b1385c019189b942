"""`tamis engines`: what there is to choose from."""

from dataclasses import MISSING, fields

import typer


def engines() -> None:
    """List the engines to choose from, with their options.

    \b
    Example:
      tamis engines
      tamis match --engine scan --subscriptions subs.csv --events events.jsonl
    """
    from rich.console import Console
    from rich.text import Text

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
