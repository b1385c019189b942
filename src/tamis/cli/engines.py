"""`tamis engines`: what there is to choose from."""

from dataclasses import MISSING, fields


def engines() -> None:
    """List the engines to choose from, with their options.

    \b
    Example:
      tamis engines
      tamis match --engine scan --subscriptions subs.csv --events events.jsonl
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from tamis.engines.registry import DEFAULT, ENGINES, engine_class

    table = Table(box=box.SIMPLE_HEAD)
    for column in ("engine", "what it does", "from", "updates", "options"):
        table.add_column(column)
    for name in ENGINES:
        kind = engine_class(name)
        told = kind.capabilities
        options = "\n".join(f"{f.name}={'' if f.default is MISSING else f.default}" for f in fields(kind.options_type))
        shown = f"[bold]{name}[/] (default)" if name == DEFAULT else f"[bold]{name}[/]"
        table.add_row(shown, told.summary, told.source, "yes" if told.incremental else "rebuild", options)
    Console().print(table)
