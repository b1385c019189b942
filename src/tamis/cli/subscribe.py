"""`tamis subscribe`: leave a condition with a broker, and with `--follow` print what it brings."""

from typing import Annotated

import typer

from tamis.cli.options import BrokerKey, BrokerUrl, open_client
from tamis.cli.problems import tell
from tamis.cli.tail import follow


def subscribe(
    filter: Annotated[str, typer.Argument(metavar="FILTER", help="The condition.")],
    owner: Annotated[str | None, typer.Option("--owner", help="A name to remember it by.")] = None,
    valid_for: Annotated[float, typer.Option("--valid-for", min=0.001, help="Seconds it stands.")] = 86400,
    replay: Annotated[bool, typer.Option(help="Get events that are still valid.")] = True,
    follows: Annotated[bool, typer.Option("--follow", "-f", help="Print notifications until Ctrl-C.")] = False,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after so many.")] = None,
    url: BrokerUrl = "http://127.0.0.1:8080",
    key: BrokerKey = None,
) -> None:
    """Subscribe at a broker, and print id and ticket.

    They come as JSON; keep the ticket, it is not told again.

    With --follow, notifications follow, one a line, each acknowledged when it is printed; at the end the subscription is
    taken back.

    \b
    Example:
      tamis subscribe "item = 'camera' and price < 300" --follow
    """
    with open_client(url, key) as client:
        mine = client.subscribe(filter, owner=owner, valid_for=valid_for, replay=replay)
        if not follows:
            typer.echo(mine.model_dump_json(exclude_none=True))
            return
        tell(f"subscribed as {mine.id}; Ctrl-C to stop")
        try:
            follow(client, mine, count)
        finally:
            client.unsubscribe(mine)
