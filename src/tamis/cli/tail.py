"""`tamis tail`: the notifications of a subscription made earlier."""

from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.options import BrokerUrl, open_client

if TYPE_CHECKING:
    from tamis.broker.calls import Opens
    from tamis.broker.client import Client


def tail(
    id: Annotated[str, typer.Argument(metavar="ID", help="The subscription, such as s1.")],
    ticket: Annotated[
        str,
        typer.Option(
            "--ticket", envvar="TAMIS_TICKET", help="Its ticket; better given as TAMIS_TICKET.", show_default=False
        ),
    ],
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after so many.")] = None,
    url: BrokerUrl = "http://127.0.0.1:8080",
) -> None:
    """Print notifications as they come.

    They stand one a line as JSON, and each is acknowledged when it is printed.

    \b
    Example:
      TAMIS_TICKET=… tamis tail s1
    """
    from tamis.broker.calls import Handle

    with open_client(url, None) as client:
        follow(client, Handle(id, ticket), count)


def follow(client: "Client", mine: "Opens", count: int | None) -> None:
    """Print and acknowledge until there were enough or somebody stops it."""
    printed = 0
    try:
        for notification in client.follow(mine):
            typer.echo(notification.model_dump_json())
            client.ack(mine, notification.cursor)
            printed += 1
            if printed == count:
                return
    except KeyboardInterrupt:
        return
