"""Names are resolved once, and what is called is the address that was judged."""

import asyncio
import ipaddress
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpcore
import pytest

from tamis.broker.delivery.targets import Address, JudgedBackend
from tamis.errors import TargetError


class Hello(BaseHTTPRequestHandler):
    """Answers 200 and counts."""

    calls: list[str]

    def do_GET(self) -> None:
        self.calls.append(str(self.headers["host"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def inside() -> Iterator[tuple[int, list[str]]]:
    """A server on this machine that nobody outside should reach: its port, and who called it."""
    calls: list[str] = []
    kind = type("Mine", (Hello,), {"calls": calls})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1], calls
        server.shutdown()
        thread.join()


class Names:
    """A name server that gives its answers one after the other, as one that rebinds does."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = [*answers], 0

    async def __call__(self, host: str, port: int) -> list[Address]:
        self.asked += 1
        return [ipaddress.ip_address(text) for text in self.answers.pop(0)]


def call(port: int, names: Names, loopback: bool, times: int = 1) -> list[int]:
    async def run() -> list[int]:
        found = []
        for _ in range(times):  # a new connection each time, so that each is judged
            async with httpcore.AsyncConnectionPool(network_backend=JudgedBackend(loopback, names)) as pool:
                answer = await pool.request(
                    "GET", f"http://rebind.invalid:{port}/", extensions={"timeout": {"connect": 5}}
                )
                found.append(answer.status)
        return found

    return asyncio.run(run())


def test_the_address_that_was_judged_is_called(inside: tuple[int, list[str]]) -> None:
    port, calls = inside
    names = Names(["127.0.0.1"])
    assert call(port, names, loopback=True) == [200]  # no other resolver knows the name
    assert names.asked == 1
    assert calls == [f"rebind.invalid:{port}"]


def test_a_name_that_turns_inside_is_refused(inside: tuple[int, list[str]]) -> None:
    port, calls = inside
    with pytest.raises(TargetError, match=r"127\.0\.0\.1"):
        call(port, Names(["127.0.0.1"]), loopback=False)
    with pytest.raises(TargetError, match=r"10\.0\.0\.1"):
        call(port, Names(["127.0.0.1"], ["10.0.0.1"]), loopback=True, times=2)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "answer",
    [
        ["8.8.8.8", "127.0.0.1"],
        ["2606:4700::1111", "::1"],
        ["8.8.8.8", "169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["0.0.0.0"],
        [],
    ],
    ids=str,
)
def test_one_inner_address_among_outer_ones_is_enough(inside: tuple[int, list[str]], answer: list[str]) -> None:
    port, calls = inside
    with pytest.raises(TargetError):
        call(port, Names(answer), loopback=False)
    assert calls == []
