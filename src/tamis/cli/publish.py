"""`tamis publish`: events from files or standard input to a broker."""

from itertools import islice
from typing import Annotated

import typer

from tamis.cli.options import BrokerKey, BrokerUrl, open_client
from tamis.cli.problems import Problems, counted, tell
from tamis.cli.source import source

BATCH = 1000


def publish(
    events: Annotated[str, typer.Argument(metavar="FILE", help="Events; `-` is standard input, as JSONL.")] = "-",
    valid_for: Annotated[
        float, typer.Option("--valid-for", min=0, help="Seconds new subscriptions still get them.")
    ] = 0,
    url: BrokerUrl = "http://127.0.0.1:8080",
    key: BrokerKey = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")] = False,
) -> None:
    """Publish the events of a file: CSV, JSONL or Parquet by its name's ending.

    \b
    Example:
      echo '{"item": "camera", "price": 199}' | tamis publish
      tamis publish events.parquet --valid-for 3600
    """
    from tamis.cli.records import events as read_events

    problems, sent, matched = Problems(), 0, 0
    given = source(events)
    with open_client(url, key) as client:
        for rows in read_events(given, None, problems):
            waiting = iter(rows)
            while chunk := list(islice(waiting, BATCH)):
                answer = client.publish_many([row.data for row in chunk], valid_for=valid_for)
                sent, matched = sent + len(answer.ids), matched + sum(answer.matched)
                for refused in answer.refused:
                    line = chunk[refused.line - 1].line if refused.line else 0
                    problems.add(given.label, line, refused.error)
    if not quiet:
        tell(f"published {counted(sent, 'event')}, {counted(matched, 'notification')}")
    if problems.count:
        tell(f"tamis: left out {counted(problems.count, 'bad row')}")
        raise typer.Exit(1)
