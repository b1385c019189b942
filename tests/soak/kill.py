"""Kill -9 at random moments under mixed load, restart, and in the end account for everything that was acknowledged.

`python -m tests.soak.kill --times 100` is the long form; the test suite runs a short one.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from tests.e2e.broker.running import await_ready, free_port
from tests.soak.child import start

from tamis.broker.client import Client
from tamis.broker.messages import Notification, Subscribed
from tamis.errors import BrokerError, TicketError

KINDS = 6
CLIENTS = 6


@dataclass
class Mine:
    """A subscription whose making was acknowledged, and what we know of it. Kinds it may ask for, by time."""

    handle: Subscribed
    kind: int
    since: float
    sure: bool = True  # no change of unknown outcome has been asked for
    until: float = float("inf")  # when its end was asked for
    gone: bool = False  # its end was acknowledged
    seen: dict[str, str] = field(default_factory=dict)


@dataclass
class World:
    """Everything acknowledged, told by all clients."""

    url: str
    subscriptions: list[Mine] = field(default_factory=list)
    events: dict[str, tuple[int, float]] = field(default_factory=dict)  # id: kind, when it was first asked for
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)
    published: dict[tuple[int, int], str] = field(default_factory=dict)  # seed and serial: the one id it may have
    acknowledged: int = 0
    problems: list[str] = field(default_factory=list)


def work(world: World, seed: int) -> None:
    """One client: subscribe, publish, consume, renew, replace, unsubscribe, over and over."""
    dice, own = random.Random(seed), list[Mine]()
    serial, kind, since, owed = 0, 0, 0.0, False
    client = Client(world.url, timeout=5)
    while not world.stop.is_set():
        action = dice.random()
        mine = dice.choice(own) if own else None
        asked, before = time.monotonic(), False
        try:
            if owed or (mine is not None and 0.1 <= action < 0.6):
                if not owed:
                    serial, owed, since = serial + 1, True, asked
                    kind = dice.randrange(KINDS)
                event = {"kind": kind, "seed": seed, "serial": serial}
                answer = client.publish(event, key=f"{seed}/{serial}")  # until it is answered, with one key
                owed = False
                with world.lock:
                    world.events[answer.id] = (kind, since)
            elif mine is None or action < 0.1:
                wish = dice.randrange(KINDS)
                made = Mine(client.subscribe(f"kind = {wish}"), wish, time.monotonic())
                own.append(made)
                with world.lock:
                    world.subscriptions.append(made)
            elif action < 0.85:
                consume(world, client, mine)
            elif action < 0.9:
                client.renew(mine.handle, 10_000)
            elif action < 0.92:
                before, mine.sure = mine.sure, False  # from here on its kind is not what it was
                client.replace(mine.handle, f"kind = {dice.randrange(KINDS)}")
            elif action < 0.97:
                client.status(mine.handle)
            else:
                mine.until = asked
                client.unsubscribe(mine.handle)
                mine.gone = True
                own.remove(mine)
            world.acknowledged += 1
        except TicketError:
            world.problems.append(f"the ticket of {mine.handle.id if mine else '?'} is refused")
        except BrokerError as problem:
            if isinstance(problem.__cause__, httpx.ConnectError):  # nobody was there: surely nothing has happened
                if mine is not None:
                    mine.sure, mine.until = mine.sure or before, float("inf")
            elif mine is not None and mine.until < float("inf"):
                own.remove(mine)  # killed under our hands: the outcome is unknown
            time.sleep(0.05)
    client.close()


def consume(world: World, client: Client, mine: Mine) -> None:
    """Take what is there, note it, acknowledge it."""
    page = client.notifications(mine.handle)
    for notification in page.notifications:
        note(world, mine, notification)
    if page.notifications:
        client.ack(mine.handle, page.notifications[-1].cursor)


def note(world: World, mine: Mine, notification: Notification) -> None:
    """A notification's id stands for one event for ever, and an idempotency key for one event."""
    is_now, event = notification.event_id, notification.event
    was = mine.seen.setdefault(notification.id, is_now)
    if was != is_now:
        world.problems.append(f"{notification.id} was {was}, is {is_now}")
    was = world.published.setdefault((event["seed"], event["serial"]), is_now)
    if was != is_now:
        world.problems.append(f"{event} was published as {was} and as {is_now}")


def account(world: World) -> list[str]:
    """What was acknowledged and is not so; empty when all is well."""
    problems = list(world.problems)
    with Client(world.url, timeout=30) as client:
        for mine in world.subscriptions:
            name = mine.handle.id
            if mine.gone:
                try:
                    client.status(mine.handle)
                    problems.append(f"{name} was unsubscribed and is back")
                except TicketError:
                    pass
                continue
            if mine.until < float("inf"):
                continue  # its end was asked for and never answered: both are right
            try:
                told = client.status(mine.handle)
            except TicketError:
                problems.append(f"{name} is lost")
                continue
            while client.notifications(mine.handle).notifications:
                consume(world, client, mine)
            events = list(mine.seen.values())
            if len(set(events)) != len(events):
                problems.append(f"{name} has an event under two ids")
            if mine.sure:
                if told.filter != f"kind = {mine.kind}":
                    problems.append(f"{name} asks for {told.filter}")
                due = {e for e, (kind, asked) in world.events.items() if kind == mine.kind and asked > mine.since}
                missing = due - set(events)
                if missing:
                    problems.append(f"{name} misses {len(missing)} notifications, such as {min(missing)}")
    return problems


def soak(
    directory: Path, times: int, seed: int, longest: float = 1.0, tell: Callable[[str], object] = len
) -> tuple[World, list[str]]:
    """Run the load, kill `times` times, account; `tell` hears of every kill."""
    dice, port = random.Random(seed), free_port()
    world = World(f"http://127.0.0.1:{port}")
    process = start(directory, port)
    await_ready(world.url)
    clients = [threading.Thread(target=work, args=(world, seed * 1000 + n)) for n in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        for kill in range(1, times + 1):
            time.sleep(dice.uniform(0.05, longest))
            process.kill()
            process.join()
            process = start(directory, port)
            await_ready(world.url)
            tell(f"kill {kill}: {world.acknowledged} operations acknowledged\n")
        time.sleep(0.2)
        world.stop.set()
        for client in clients:
            client.join()
        return world, account(world)
    finally:
        world.stop.set()
        process.kill()
        process.join()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        world, problems = soak(Path(folder), options.times, options.seed, tell=sys.stderr.write)
    subscriptions = world.subscriptions
    unknown = sum(not mine.gone and mine.until < float("inf") for mine in subscriptions)
    sys.stdout.write(
        f"{options.times} kills in {time.monotonic() - began:.0f} s: {world.acknowledged} operations acknowledged, "
        f"{len(world.events)} events, {len(subscriptions)} subscriptions of which {sum(m.gone for m in subscriptions)} were "
        f"taken back and {unknown} perhaps, {sum(len(mine.seen) for mine in subscriptions)} notifications; "
        f"{len(problems)} problems\n"
    )
    for problem in problems:
        sys.stdout.write(problem + "\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
