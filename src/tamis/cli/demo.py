"""`tamis demo`: a small market, to see the whole of it at work in a few seconds."""

import sys
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from tamis.matcher import Matcher

DAY = 5000
LABELS = {"camera": ("brand", "model"), "flight": ("from", "to"), "grocery": ("name",)}


def demo(
    events: Annotated[int, typer.Option("--events", min=1, help="How many offers to publish.")] = 16,
    seed: Annotated[int, typer.Option("--seed", help="Another number, another market day.")] = 29,
    pace: Annotated[float, typer.Option("--pace", min=0, help="Seconds between offers on a terminal.")] = 0.15,
    spark: Annotated[bool, typer.Option(help="End with a small pipeline on Spark.")] = True,
) -> None:
    """Watch a small market: who is notified of which offer, and why.

    Ten people wait for cameras, flights and groceries. Offers arrive one by one; below each stand the people it was
    sent to, with the condition that held. At the end a whole day's offers are matched at once, on Spark.

    \b
    Example:
      tamis demo
      tamis demo --events 100 --seed 7
    """
    from rich.console import Console

    from tamis.cli.bulk import bulk
    from tamis.cli.market import SUBSCRIPTIONS
    from tamis.cli.market import events as offers
    from tamis.matcher import Matcher

    console = Console(highlight=False, soft_wrap=True)
    matcher = Matcher()
    matcher.subscribe_many(SUBSCRIPTIONS.items())
    show_subscriptions(console, SUBSCRIPTIONS)
    console.print("\n[bold]Offers arrive, and find their people[/]\n")
    sent = 0
    for number, offer in enumerate(offers(events, seed), 1):
        notified = sorted(map(str, matcher.match(offer)))
        show_offer(console, number, offer)
        for name in notified:
            show_reasons(console, matcher, name, offer)
        sent += len(notified)
        if sys.stdout.isatty():
            sleep(pace)
    console.print(f"\n[bold]{events} offers, {len(matcher)} subscriptions, {sent} notifications.[/]")
    show_near_miss(console, matcher, list(offers(events, seed)))
    if spark:
        bulk(console, matcher, SUBSCRIPTIONS, list(offers(DAY, seed)))
    console.print(
        "\nNext: [cyan]tamis match --help[/], [cyan]tamis explain --help[/], [cyan]tamis engines[/], [cyan]tamis pipeline init[/]"
    )


def show_subscriptions(console: "Console", wanted: dict[str, str]) -> None:
    """Who waits for what."""
    console.print("[bold]Ten people wait[/]\n")
    for name, condition in wanted.items():
        console.print(f"  [bold cyan]{name:6}[/] {condition}")


def show_offer(console: "Console", number: int, offer: dict[str, Any]) -> None:
    """One event on one line: its label, then the other attributes."""
    label = LABELS[offer["item"]]
    title = (" → " if offer["item"] == "flight" else " ").join(str(offer[part]) for part in label)
    rest = (f"{name} {plain(value)}" for name, value in offer.items() if name not in (*label, "item"))
    console.print(f"[dim]{number:3}[/]  [bold]{title}[/]  [dim]{' · '.join(rest)}[/]")


def show_reasons(console: "Console", matcher: "Matcher", name: str, offer: dict[str, Any]) -> None:
    """A notification and the predicates that brought it about."""
    held = " [dim]and[/] ".join(reasons(matcher.explain(name, offer).data))
    console.print(f"     [green]✉ {name:6}[/] {held}")


def show_near_miss(console: "Console", matcher: "Matcher", offers: list[dict[str, Any]]) -> None:
    """The explanation of an offer that somebody missed by a single predicate."""
    from tamis.cli.explain import coloured

    told = ((number, matcher.explain(name, offer)) for number, offer in enumerate(offers, 1) for name in matcher)
    number, closest = max(told, key=lambda each: closeness(each[1].data))
    if not closeness(closest.data)[0]:
        return
    console.print(f"\n[bold]A near miss: why was {closest.id} not told of offer {number}?[/]\n")
    for line in closest.text.splitlines():
        console.print("  ", coloured(line), sep="")


def closeness(node: dict[str, Any]) -> tuple[bool, int]:
    """How near a condition came to holding without doing so: all parts but one, and better the more parts there are."""
    outcomes = [part["outcome"] for part in node.get("children", ())]
    return outcomes.count("true") == len(outcomes) - 1 and node["outcome"] != "true", len(outcomes)


def reasons(node: dict[str, Any]) -> list[str]:
    """The true parts of a true condition; a negation is told as a whole."""
    parts = node.get("children", ())
    if node["outcome"] != "true":
        return []
    if len(parts) > 1:
        return [reason for part in parts for reason in reasons(part)]
    return [node["condition"]]


def plain(value: Any) -> str:
    """A value for people."""
    if isinstance(value, dict):
        return ", ".join(map(plain, value.values()))
    return "/".join(map(plain, value)) if isinstance(value, list) else str(value)
