"""Durable publishes per second: many clients, batches, many subscriptions; every event is on the disk before it is counted.

`python -m tests.soak.load` runs the figures of docs/broker.md: 64 clients, batches of 100 events, 100,000 subscriptions of
which an event matches two or three.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

import httpx
import msgspec
import psutil
from tests.e2e.broker.running import await_ready, free_port
from tests.soak.child import start

from tamis.broker.settings import Settings
from tamis.broker.store import Store
from tamis.broker.testing import MemoryBroker

GROUP = 5000
PER_ITEM = 5


def populate(directory: Path, count: int, engine: str | None) -> None:
    """Subscriptions in a database that a broker will open: a fifth of an item each, half of the prices."""
    dice = random.Random(1)
    broker = MemoryBroker(Settings(), engine, time.time(), Store(directory / "broker.db"))
    for first in range(0, count, GROUP):
        broker.core.begin()
        broker.store.begin()
        for n in range(first, min(count, first + GROUP)):
            item, price = n // PER_ITEM, dice.randrange(1000)
            broker.core.subscribe(f"item = 'item {item}' and price < {price} and region in ('north', 'south', 'east')")
        broker.store.commit()
    broker.store.close()


async def publish(url: str, clients: int, batch: int, seconds: float, items: int) -> tuple[int, int, list[float]]:
    """Events acknowledged, notifications made, and how long each request took."""
    times: list[float] = []
    events = matches = 0
    until = time.perf_counter() + seconds

    async def client(seed: int) -> None:
        nonlocal events, matches
        dice = random.Random(seed)
        headers = {"content-type": "application/x-ndjson"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False) as http:
            bodies = [body(dice, batch, items) for _ in range(8)]
            while time.perf_counter() < until:
                began = time.perf_counter()
                response = await http.post("/v1/events/batch", content=dice.choice(bodies))
                if response.status_code == 503:
                    await asyncio.sleep(0.1)
                    continue
                response.raise_for_status()
                times.append(time.perf_counter() - began)
                answer = msgspec.json.decode(response.content)
                events += len(answer["ids"])
                matches += sum(answer["matched"])

    await asyncio.gather(*(client(seed) for seed in range(clients)))
    return events, matches, sorted(times)


def body(dice: random.Random, batch: int, items: int) -> bytes:
    """A batch as lines."""
    return b"\n".join(
        msgspec.json.encode(
            {
                "item": f"item {dice.randrange(items)}",
                "price": dice.randrange(1000),
                "region": dice.choice(("north", "south", "east", "west")),
                "stock": dice.randrange(100),
                "seller": {"city": "Lyon", "rating": dice.randrange(5)},
            }
        )
        for _ in range(batch)
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--engine", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        populate(Path(folder), options.subscriptions, options.engine)
        filled = time.monotonic()
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        process = start(Path(folder), port, options.engine)
        await_ready(url, 600)
        ready = time.monotonic()
        try:
            items = max(1, options.subscriptions // PER_ITEM)
            asyncio.run(publish(url, options.clients, options.batch, 2, items))
            before = cpu_seconds(process.pid)
            events, matches, times = asyncio.run(publish(url, options.clients, options.batch, options.seconds, items))
            spent = cpu_seconds(process.pid) - before
        finally:
            process.kill()
            process.join()
    sys.stdout.write(
        f"{options.subscriptions:,} subscriptions filled in {filled - began:.1f} s, ready in {ready - filled:.1f} s; "
        f"{options.clients} clients, batches of {options.batch}: {events / options.seconds:,.0f} durable events/s, "
        f"{matches / max(1, events):.2f} notifications per event; "
        f"request p50 {quantile(times, 0.5)}, p99 {quantile(times, 0.99)}; "
        f"the broker spent {spent / max(1, events) * 1e6:.0f} µs of processor time per event\n"
    )


def cpu_seconds(pid: int | None) -> float:
    """Processor time of a process so far."""
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


def quantile(times: list[float], share: float) -> str:
    """A quantile in milliseconds."""
    return f"{times[int(len(times) * share)] * 1000:.0f} ms" if times else "unknown"


if __name__ == "__main__":
    main()
