"""A real broker on loopback for tests: uvicorn in a thread of this process, so that tests may reach into it."""

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tamis.broker.client import Client
from tamis.broker.server import make_server
from tamis.broker.service import Service
from tamis.broker.settings import Settings


@dataclass
class Running:
    """A broker that answers."""

    url: str
    port: int
    service: Service

    def client(self, **options: Any) -> Client:
        """A new client of it."""
        return Client(self.url, **options)


def free_port() -> int:
    """A port nobody uses now, and that the system gives to nobody who does not ask for it by number: whatever starts until a
    broker listens there, Spark or a database, would otherwise be taken for the broker now and then."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def await_ready(url: str, seconds: float = 60) -> None:
    """Wait until a broker accepts changes."""
    until = time.monotonic() + seconds
    while True:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{url}/readyz", trust_env=False).status_code == 200:
                return
        if time.monotonic() > until:
            raise TimeoutError("the broker does not get ready")
        time.sleep(0.02)


@contextmanager
def running(directory: Path, settings: Settings | None = None, engine: str = "scan") -> Iterator[Running]:
    """Start a broker, and stop it in order."""
    service = Service(directory, settings or Settings(), engine)
    port = free_port()
    server = make_server(service, port=port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{port}"
    try:
        await_ready(url)
        yield Running(url, port, service)
    finally:
        loop = service.loop
        assert loop is not None
        if not loop.is_closed():
            loop.call_soon_threadsafe(server.stop)
        thread.join(30)
        assert not thread.is_alive()
