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
    events: dict[str, tuple[int, float, float]] = field(default_factory=dict)  # id: kind, asked, answered
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)
    acknowledged: int = 0
    problems: list[str] = field(default_factory=list)


def work(world: World, seed: int) -> None:
    """One client: subscribe, publish, consume, renew, replace, unsubscribe, over and over."""
    dice, serial, own = random.Random(seed), 0, list[Mine]()
    client = Client(world.url, timeout=5)
    while not world.stop.is_set():
        action = dice.random()
        mine = dice.choice(own) if own else None
        asked = time.monotonic()
        try:
            if mine is None or action < 0.1:
                kind = dice.randrange(KINDS)
                made = Mine(client.subscribe(f"kind = {kind}"), kind, time.monotonic())
                own.append(made)
                with world.lock:
                    world.subscriptions.append(made)
            elif action < 0.6:
                serial += 1
                kind = dice.randrange(KINDS)
                answer = client.publish({"kind": kind, "seed": seed, "serial": serial}, key=f"{seed}/{serial}")
                with world.lock:
                    world.events[answer.id] = (kind, asked, time.monotonic())
            elif action < 0.85:
                consume(client, mine)
            elif action < 0.9:
                client.renew(mine.handle, 10_000)
            elif action < 0.95:
                mine.sure = False  # from here on its kind is not what it was
                kind = dice.randrange(KINDS)
                client.replace(mine.handle, f"kind = {kind}")
            else:
                own.remove(mine)
                mine.until = asked
                client.unsubscribe(mine.handle)
                mine.gone = True
            world.acknowledged += 1
        except TicketError:
            world.problems.append(f"the ticket of {mine.handle.id if mine else '?'} is refused")
        except BrokerError:
            time.sleep(0.02)  # killed under our hands: the outcome is unknown
    client.close()


def consume(client: Client, mine: Mine) -> None:
    """Take what is there, note it, acknowledge it."""
    page = client.notifications(mine.handle)
    for notification in page.notifications:
        note(mine, notification)
    if page.notifications:
        client.ack(mine.handle, page.notifications[-1].cursor)


def note(mine: Mine, notification: Notification) -> None:
    """A notification's id stands for one event for ever."""
    before = mine.seen.setdefault(notification.id, notification.event_id)
    assert before == notification.event_id, f"{notification.id} was {before}, is {notification.event_id}"


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
                consume(client, mine)
            events = list(mine.seen.values())
            if len(set(events)) != len(events):
                problems.append(f"{name} has an event under two ids")
            if mine.sure:
                if told.filter != f"kind = {mine.kind}":
                    problems.append(f"{name} asks for {told.filter}")
                due = {e for e, (kind, asked, _) in world.events.items() if kind == mine.kind and asked > mine.since}
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
    sys.stdout.write(
        f"{options.times} kills in {time.monotonic() - began:.0f} s: {world.acknowledged} operations acknowledged, "
        f"{len(world.events)} events, {len(world.subscriptions)} subscriptions, "
        f"{sum(len(mine.seen) for mine in world.subscriptions)} notifications; {len(problems)} problems\n"
    )
    for problem in problems:
        sys.stdout.write(problem + "\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
