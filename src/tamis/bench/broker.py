"""A broker in a process of its own, under clients that publish, and clients that come and go.

Every event counted was acknowledged, so it is on the disk. How many notifications an event makes is checked against its
item and price.
"""

import asyncio
import itertools
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tamis.errors import Disagreement, EngineError, MissingExtra

PRICES = 1000
GROUP = 5000
READY = 600.0
"""Seconds until a broker must answer; the first one on a machine compiles kernels."""


def measure(given: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each load on one broker: durable events a second, latencies, notifications, changes of subscriptions.

    `clients` and `batch` may be lists; every combination is a load.
    """
    try:
        import httpx  # noqa: F401

        from tamis.broker.store import Store  # noqa: F401
    except ModuleNotFoundError as problem:
        raise MissingExtra("the broker", "server") from problem
    with tempfile.TemporaryDirectory(prefix="tamis-bench-broker-") as name:
        prices = populate(Path(name), given["subscriptions"], given["fan_out"])
        with serving(Path(name)) as url:
            return [loaded(url, given | load, prices) for load in loads(given)]


def loads(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Every combination of clients and batch."""
    lists = {name: given[name] for name in ("clients", "batch") if isinstance(given[name], list)}
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]


def loaded(url: str, given: dict[str, Any], prices: list[list[int]]) -> dict[str, Any]:
    """What clients saw in some seconds; a first half second opens connections and fills caches."""
    asyncio.run(Load(url, given | {"seconds": 0.5}, prices).run())
    load = Load(url, given, prices)
    asyncio.run(load.run())
    spent = sorted(load.times) or [0.0]
    seconds = given["seconds"]
    values = {
        "events_per_second": load.events / seconds,
        "requests_per_second": len(load.times) / seconds,
        "notifications_per_second": load.notifications / seconds,
        "changes_per_second": load.changes / seconds,
        "p50_ms": spent[len(spent) // 2] * 1e3,
        "p99_ms": spent[min(len(spent) - 1, int(len(spent) * 0.99))] * 1e3,
    }
    at = {name: given[name] for name in ("clients", "batch")}
    return {"series": "broker", "at": at, "values": values}


def populate(directory: Path, count: int, fan_out: int) -> list[list[int]]:
    """Subscriptions in a database that a broker will open, `fan_out` per item; returns the price limits of each item."""
    from tamis.broker.settings import Settings
    from tamis.broker.store import Store
    from tamis.broker.testing import MemoryBroker

    dice = random.Random(1)
    limits: list[list[int]] = [[] for _ in range(-(-count // fan_out))]
    broker = MemoryBroker(Settings(), None, time.time(), Store(directory / "broker.db"))
    for first in range(0, count, GROUP):
        broker.core.begin()
        broker.store.begin()
        for n in range(first, min(count, first + GROUP)):
            price = dice.randrange(PRICES)
            limits[n // fan_out].append(price)
            broker.core.subscribe(f"item = 'item {n // fan_out}' and price < {price}")
        broker.store.commit()
    broker.store.close()
    return limits


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """`tamis serve` on a free port of this machine, ready."""
    import httpx

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "tamis", "serve", "--data", str(directory), "--port", str(port)]
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*command, "--log-level", "error"], env=environment(), **silent)
    try:
        until = time.monotonic() + READY
        while True:
            try:
                if httpx.get(f"{url}/readyz", trust_env=False).status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            if time.monotonic() > until or process.poll() is not None:
                raise EngineError("the broker does not get ready")
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def environment() -> dict[str, str]:
    """A server imports this very package, wherever the bench was started from."""
    root = str(Path(__file__).resolve().parents[2])
    return os.environ | {"PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}


class Load:
    """Clients for some seconds, and what they saw."""

    def __init__(self, url: str, given: dict[str, Any], limits: list[list[int]]) -> None:
        self.url, self.given, self.limits = url, given, limits
        self.events = self.notifications = self.changes = 0
        self.times: list[float] = []

    async def run(self) -> None:
        """Publishers and changers together."""
        self.until = time.perf_counter() + self.given["seconds"]
        publishers = [self.publish(seed) for seed in range(self.given["clients"])]
        changers = [self.change(seed) for seed in range(self.given.get("churn", 0))]
        await asyncio.gather(*publishers, *changers)

    async def publish(self, seed: int) -> None:
        """Batches, one after the other; the broker's count of matches must be ours."""
        import httpx
        import msgspec

        dice = random.Random(seed)
        headers = {"content-type": "application/x-ndjson"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60, trust_env=False) as http:
            while time.perf_counter() < self.until:
                drawn = [(dice.randrange(len(self.limits)), dice.randrange(PRICES)) for _ in range(self.given["batch"])]
                body = b"\n".join(msgspec.json.encode({"item": f"item {i}", "price": p}) for i, p in drawn)
                began = time.perf_counter()
                response = await http.post("/v1/events/batch", content=body)
                if response.status_code == 503:
                    await asyncio.sleep(0.1)
                    continue
                response.raise_for_status()
                self.times.append(time.perf_counter() - began)
                answer = msgspec.json.decode(response.content)
                if answer["matched"] != [sum(p < limit for limit in self.limits[i]) for i, p in drawn]:
                    raise Disagreement("the broker disagrees with the definition; its times are not reported")
                self.events += len(answer["ids"])
                self.notifications += sum(answer["matched"])

    async def change(self, seed: int) -> None:
        """Subscribe, then unsubscribe, over and over, to things nobody publishes."""
        from tamis.broker.client import AsyncClient

        async with AsyncClient(self.url, patience=10) as client:
            while time.perf_counter() < self.until:
                mine = await client.subscribe(f"item = 'none {seed}' and price < 10")
                await client.unsubscribe(mine)
                self.changes += 2
