"""Durable publishes per second: many clients, batches, many subscriptions; every event is on the disk before it is counted.

`python -m tests.soak.load` gives the figures of docs/broker.md: 64 clients, batches of 100 events, 100,000 subscriptions of
which an event matches two on average. Then ten times as many clients come at once, and then the first ones again alone.
The clients share the machine with the broker, so they are light: one process, requests encoded beforehand, bare sockets.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil
from tests.e2e.broker.running import await_ready, free_port
from tests.soak.child import start

from tamis.broker import index
from tamis.broker.settings import Settings
from tamis.broker.store import Store
from tamis.broker.testing import MemoryBroker
from tamis.engines.registry import DEFAULT

GROUP = 5000
PER_ITEM = 5
BODIES = 64


def populate(directory: Path, count: int, engine: str | None) -> None:
    """Subscriptions in a database and a saved index that a broker will open.

    Five ask for an item, each below a price of its own, in three regions of four.
    """
    dice = random.Random(1)
    broker = MemoryBroker(Settings(), engine, time.time(), Store(directory / "broker.db"))
    for first in range(0, count, GROUP):
        broker.core.begin()
        broker.store.begin()
        for n in range(first, min(count, first + GROUP)):
            item, price = n // PER_ITEM, dice.randrange(1000)
            broker.core.subscribe(f"item = 'item {item}' and price < {price} and region in ('north', 'south', 'east')")
        broker.store.commit()
    index.save(broker.core.matcher, directory / "index")
    broker.store.close()


@dataclass
class Tally:
    """What a crowd of clients saw."""

    seconds: float
    events: int = 0
    matches: int = 0
    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def quantile(self, share: float) -> str:
        """A quantile of the times of acknowledged requests."""
        return f"{self.times[int(len(self.times) * share)] * 1000:.0f} ms" if self.times else "unknown"

    def __str__(self) -> str:
        answers = ", ".join(f"{count:,} × {status}" for status, count in sorted(self.statuses.items()))
        return (
            f"{self.events / self.seconds:,.0f} durable events/s, "
            f"{self.matches / max(1, self.events):.2f} notifications per event; "
            f"acknowledged requests p50 {self.quantile(0.5)}, p99 {self.quantile(0.99)}; answers {answers}"
        )


async def crowd(port: int, clients: int, requests: list[bytes], seconds: float) -> Tally:
    """Every client sends a request, waits for the answer, and sends the next."""
    tally = Tally(seconds)
    until = time.perf_counter() + seconds

    async def client(seed: int) -> None:
        dice = random.Random(seed)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (began := time.perf_counter()) < until:
            writer.write(dice.choice(requests))
            status, headers, content = await answer(reader)
            tally.statuses[status] += 1
            if status == 201:
                told = msgspec.json.decode(content)
                tally.times.append(time.perf_counter() - began)
                tally.events += len(told["ids"])
                tally.matches += sum(told["matched"])
            else:
                await asyncio.sleep(float(headers[b"retry-after"]))
        writer.close()

    await asyncio.gather(*(client(seed) for seed in range(clients)))
    tally.seconds = time.perf_counter() - until + seconds
    tally.times.sort()
    return tally


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of one answer."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
    headers = {name.lower(): value for name, _, value in (line.partition(b": ") for line in lines)}
    return int(first.split(b" ")[1]), headers, await reader.readexactly(int(headers[b"content-length"]))


def make_requests(batch: int, items: int) -> list[bytes]:
    """Batches as lines, ready to be sent."""
    dice = random.Random(2)

    def event() -> bytes:
        return msgspec.json.encode(
            {
                "item": f"item {dice.randrange(items)}",
                "price": dice.randrange(1000),
                "region": dice.choice(("north", "south", "east", "west")),
                "stock": dice.randrange(100),
                "seller": {"city": "Lyon", "rating": dice.randrange(5)},
            }
        )

    bodies = [b"\n".join(event() for _ in range(batch)) for _ in range(BODIES)]
    head = (
        b"POST /v1/events/batch HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\ncontent-length: %d\r\n\r\n"
    )
    return [head % len(body) + body for body in bodies]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--overload", type=int, default=10, help="how many times more clients come; 0: none")
    parser.add_argument("--engine", default=DEFAULT)
    options = parser.parse_args()
    tell = sys.stdout.write
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        populate(Path(folder), options.subscriptions, options.engine)
        filled = time.monotonic()
        port = free_port()
        process = start(Path(folder), port, options.engine)
        await_ready(f"http://127.0.0.1:{port}", 600)
        tell(
            f"{options.subscriptions:,} subscriptions filled in {filled - began:.1f} s, "
            f"ready in {time.monotonic() - filled:.1f} s; {options.clients} clients, batches of {options.batch}\n"
        )
        try:
            requests = make_requests(options.batch, max(1, options.subscriptions // PER_ITEM))
            asyncio.run(crowd(port, options.clients, requests, 2))
            before = cpu_seconds(process.pid)
            tally = asyncio.run(crowd(port, options.clients, requests, options.seconds))
            spent = cpu_seconds(process.pid) - before
            per_event = spent / max(1, tally.events) * 1e6
            tell(f"normal: {tally}; the broker spent {per_event:.0f} µs of processor time per event\n")
            if options.overload:
                more = options.clients * options.overload
                tell(f"overload, {more} clients: {asyncio.run(crowd(port, more, requests, options.seconds))}\n")
                tell(f"after it: {asyncio.run(crowd(port, options.clients, requests, options.seconds))}\n")
        finally:
            process.kill()
            process.join()


def cpu_seconds(pid: int | None) -> float:
    """Processor time of a process so far."""
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


if __name__ == "__main__":
    main()
