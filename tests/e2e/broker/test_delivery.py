"""Every way out: long poll, server-sent events, WebSocket, webhooks; slow and absent consumers."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook
from tests.e2e.broker.running import Running, running
from websockets.sync.client import connect

from tamis.broker.client import Client
from tamis.broker.messages import Subscribed
from tamis.broker.names import subscription_number
from tamis.broker.settings import Settings


def bearer(mine: Subscribed) -> dict[str, str]:
    return {"authorization": f"Bearer {mine.ticket}"}


def test_long_poll_waits_for_the_first(client: Client, broker: Running) -> None:
    mine = client.subscribe("poll = 1")

    def later() -> None:
        with broker.client() as other:
            other.publish({"poll": 1})

    timer = threading.Timer(0.3, later)
    timer.start()
    page = client.notifications(mine, wait=30)
    timer.join()
    assert len(page.notifications) == 1
    assert client.notifications(mine, after=1, wait=0.05).notifications == []


def test_server_sent_events_resume(client: Client, broker: Running) -> None:
    mine = client.subscribe("sse = 1")
    client.publish_many([{"sse": 1, "n": n} for n in range(5)])

    def read(headers: dict[str, str], count: int) -> list[int]:
        found: list[int] = []
        url = f"{broker.url}/v1/subscriptions/{mine.id}/stream"
        with httpx.stream("GET", url, headers=bearer(mine) | headers, trust_env=False) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            for line in response.iter_lines():
                if line.startswith("data: "):
                    found.append(json.loads(line[6:])["event"]["n"])
                if len(found) == count:
                    break
        return found

    assert read({}, 3) == [0, 1, 2]
    assert read({"last-event-id": "3"}, 2) == [3, 4]
    assert read({"last-event-id": "nonsense"}, 5) == [0, 1, 2, 3, 4]
    client.ack(mine, 5)
    client.unsubscribe(mine)


def test_what_nobody_acknowledges_comes_again_and_is_given_up(client: Client) -> None:
    """The broker of this file waits half a second for an acknowledgement and tries three times."""
    mine = client.subscribe("again = 1")
    client.publish({"again": 1})
    stream = client.follow(mine)
    assert {next(stream).id for _ in range(3)} == {f"{mine.id}.1"}
    until = time.monotonic() + 30
    while not client.dead_letters(mine).dead_letters and time.monotonic() < until:
        time.sleep(0.05)
    (letter,) = client.dead_letters(mine).dead_letters
    assert letter.reason == "nobody acknowledged it"
    assert client.notifications(mine).notifications == []
    client.unsubscribe(mine)


def test_a_stream_ends_with_its_subscription(client: Client, broker: Running) -> None:
    mine = client.subscribe("end = 1")
    url = f"{broker.url}/v1/subscriptions/{mine.id}/stream"
    with httpx.stream("GET", url, headers=bearer(mine), trust_env=False) as response:
        lines = response.iter_lines()
        next(lines)
        client.unsubscribe(mine)
        assert all(not line or line.startswith(":") for line in lines)


def test_websocket_carries_several_subscriptions(client: Client, broker: Running) -> None:
    mine, other = client.subscribe("ws = 1"), client.subscribe("ws >= 1")
    with connect(broker.url.replace("http", "ws") + "/v1/stream", proxy=None) as ws:

        def receive() -> dict[str, Any]:
            found: dict[str, Any] = json.loads(ws.recv(timeout=30))
            return found

        ws.send(json.dumps({"follow": mine.id, "ticket": other.ticket}))
        assert "ticket" in receive()["error"]
        for text in ("[]", "{", '{"follow": 3}', '{"what": 1}', '{"ack": "s1", "cursor": 1.5}', '{"follow": "s1"}'):
            ws.send(text)
            assert "error" in receive()
        for one in (mine, other):
            ws.send(json.dumps({"follow": one.id, "ticket": one.ticket}))
            assert receive() == {"following": one.id}
        client.publish({"ws": 1})
        got = [receive()["notification"], receive()["notification"]]
        assert {n["id"] for n in got} == {f"{mine.id}.1", f"{other.id}.1"}
        assert got[0]["event"] == {"ws": 1}
        for one in (mine, other):
            ws.send(json.dumps({"ack": one.id, "cursor": 1}))
            assert receive() == {"acknowledged": one.id, "cursor": 1}
        ws.send(json.dumps({"leave": other.id}))
        client.unsubscribe(mine)
        assert receive() == {"ended": mine.id}
    client.unsubscribe(other)


class Receiver(BaseHTTPRequestHandler):
    """Takes webhooks; the path says how it answers."""

    got: list[tuple[str, dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        flaky = sum(path == self.path for path, _, _ in self.got) == 1
        status = {"/never": 500, "/elsewhere": 302, "/flaky": 503 if flaky else 200}.get(self.path, 200)
        self.send_response(status)
        if status == 302:
            self.send_header("location", "/taken")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def receiver() -> Iterator[tuple[str, type[Receiver]]]:
    kind = type("Mine", (Receiver,), {"got": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", kind
        server.shutdown()
        thread.join()


def eventually(what: Any, seconds: float = 30) -> Any:
    until = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def test_webhooks_are_signed_in_order_and_retried(client: Client) -> None:
    with receiver() as (url, kind):
        mine = client.subscribe("hook = 1", webhook=f"{url}/flaky")
        assert mine.webhook_secret is not None
        client.publish_many([{"hook": 1, "n": n} for n in range(3)])
        assert eventually(lambda: client.status(mine).cursor == 3)
        assert [json.loads(body)["event"]["n"] for _, _, body in kind.got] == [0, 0, 1, 2]
        for _, headers, body in kind.got:
            told = Webhook(mine.webhook_secret).verify(body.decode(), headers)
            assert told["id"] == headers["webhook-id"]
        client.unsubscribe(mine)


@pytest.mark.parametrize("path", ["/never", "/elsewhere"])
def test_webhooks_that_fail_become_dead_letters(client: Client, path: str) -> None:
    with receiver() as (url, kind):
        mine = client.subscribe(f"dead = '{path}'", webhook=url + path)
        client.publish({"dead": path})
        assert eventually(lambda: client.dead_letters(mine).dead_letters)
        (letter,) = client.dead_letters(mine).dead_letters
        assert "it answered" in letter.reason
        assert [asked for asked, _, _ in kind.got] == [path] * 3  # a redirect is not followed
        client.unsubscribe(mine)


def test_attempts_survive_a_restart(tmp_path: Path) -> None:
    """Neither the number of attempts nor the pause before the next one begins anew."""
    settings = Settings(loopback_webhooks=True, webhook_backoff=0.4, attempts=4)
    with receiver() as (url, kind):
        with running(tmp_path, settings) as broker, broker.client() as client:
            mine = client.subscribe("hook = 1", webhook=f"{url}/never")
            client.publish({"hook": 1})
            number = subscription_number(mine.id)

            def attempt() -> Any:
                return broker.service.store.reader().attempt(number)

            assert eventually(lambda: (found := attempt()) is not None and found.made == 2)
            due = attempt().due
        assert len(kind.got) == 2
        with running(tmp_path, settings) as broker, broker.client() as client:
            assert eventually(lambda: len(kind.got) == 3)
            assert time.time() * 1000 >= due
            assert eventually(lambda: client.dead_letters(mine).dead_letters)
        assert len(kind.got) == settings.attempts


def test_a_consumer_that_does_not_read_holds_up_nobody(client: Client, broker: Running) -> None:
    slow, quick = client.subscribe("big = 1"), client.subscribe("big = 1")
    padding = "x" * 100_000
    with socket.create_connection(("127.0.0.1", broker.port)) as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        path = f"/v1/subscriptions/{slow.id}/stream"
        lazy.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {slow.ticket}\r\n\r\n".encode())
        stream = client.follow(quick)
        for n in range(60):
            client.publish({"big": 1, "n": n, "padding": padding})
            lazy.recv(1)
            notification = next(stream)
            assert notification.event["n"] == n
            client.ack(quick, notification.cursor)
    assert client.status(slow).cursor == 0
    assert client.status(slow).last == 60
    client.unsubscribe(slow)
    client.unsubscribe(quick)
