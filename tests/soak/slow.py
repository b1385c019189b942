"""One consumer reads a byte a second; the others must not notice.

`python -m tests.soak.slow` measures how long a notification takes to reach a consumer that reads, alone and beside a slow one
of each kind; the test suite runs a short form.
"""

import argparse
import json
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.broker.running import Running, running

from tamis.broker.messages import Subscribed
from tamis.broker.settings import Settings

WAYS = ("sse", "websocket")
PADDING = "x" * 50_000


def open_stream(broker: Running, way: str, mine: Subscribed) -> socket.socket:
    """A bare connection that follows a subscription; whatever comes waits in it."""
    bare = socket.socket()
    bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    bare.connect(("127.0.0.1", broker.port))
    if way == "sse":
        path, more = f"/v1/subscriptions/{mine.id}/stream", f"authorization: Bearer {mine.ticket}\r\n"
    else:
        path, more = "/v1/stream", "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
        more += "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    bare.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\n{more}\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += bare.recv(1)
    assert head.split(b" ")[1] in (b"200", b"101"), head
    if way == "websocket":
        text = json.dumps({"follow": mine.id, "ticket": mine.ticket}).encode()
        assert len(text) < 126
        bare.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
    return bare


@contextmanager
def sipping(broker: Running, way: str, mine: Subscribed, every: float = 1.0) -> Iterator[list[bytes]]:
    """While it lasts, a consumer of `mine` reads one byte every so many seconds, and no more; yields what it has read."""
    read: list[bytes] = []
    done = threading.Event()
    with open_stream(broker, way, mine) as bare:

        def sip() -> None:
            while not done.wait(every):
                try:
                    read.append(bare.recv(1))
                except OSError:  # it was cut off, as it deserves
                    return

        thread = threading.Thread(target=sip)
        thread.start()
        try:
            yield read
        finally:
            done.set()
            bare.shutdown(socket.SHUT_RDWR)
            thread.join()


def deliver(broker: Running, mine: Subscribed, count: int) -> list[float]:
    """Publish so many large events one by one; how long each took to reach a consumer that reads."""
    times = []
    with broker.client() as client:
        stream = client.follow(mine)
        for n in range(count):
            began = time.perf_counter()
            event = client.publish({"big": 1, "n": n, "padding": PADDING})
            notification = next(stream)
            times.append(time.perf_counter() - began)
            assert (notification.event_id, notification.event["n"]) == (event.id, n)
            client.ack(mine, notification.cursor)
    return sorted(times)


def measure(directory: Path, way: str | None, count: int, settings: Settings | None = None) -> list[float]:
    """The times with a slow consumer of a kind beside, or none."""
    with running(directory, settings) as broker, broker.client() as client:
        quick, slow = client.subscribe("big = 1"), client.subscribe("big = 1")
        if way is None:
            return deliver(broker, quick, count)
        with sipping(broker, way, slow):
            times = deliver(broker, quick, count)
        assert client.status(slow).last == count
        assert client.status(slow).cursor == 0
        return times


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    options = parser.parse_args()
    for way in (None, *WAYS):
        with tempfile.TemporaryDirectory() as folder:
            times = measure(Path(folder), way, options.count)
        p50, p99 = (times[int(len(times) * share)] * 1000 for share in (0.5, 0.99))
        told = f"{way or 'no'} consumer at 1 byte/s beside: {options.count} events of 50 KB"
        sys.stdout.write(f"{told}, publish to notification p50 {p50:.1f} ms, p99 {p99:.1f} ms\n")


if __name__ == "__main__":
    main()
