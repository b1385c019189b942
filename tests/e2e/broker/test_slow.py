"""Consumers that read too slowly, or not at all."""

import socket
from pathlib import Path

import httpx
import psutil
import pytest
from tests.e2e.broker.running import Running, running
from tests.e2e.broker.test_delivery import eventually
from tests.soak.slow import PADDING, WAYS, measure, open_stream, sipping

from tamis.broker.settings import Settings


@pytest.mark.parametrize("way", WAYS)
def test_a_byte_a_second_slows_nobody(tmp_path: Path, way: str) -> None:
    assert len(measure(tmp_path, way, 60)) == 60


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"POST /v1/events HTTP/1.1\r\nhost:", b""),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /hea", b"HTTP/1.1 200"),
        (b"POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{", b"HTTP/1.1 408"),
    ],
    ids=["nothing", "half a header", "half a second header", "half a body"],
)
def test_who_does_not_finish_asking_is_cut_off(tmp_path: Path, sent: bytes, answer: bytes) -> None:
    with running(tmp_path, Settings(write_deadline=0.3)) as broker:
        with socket.create_connection(("127.0.0.1", broker.port), timeout=30) as bare:
            bare.sendall(sent)
            got = b""
            while chunk := bare.recv(4096):
                got += chunk
            assert got.startswith(answer)
            assert got.count(b"HTTP/1.1") == bool(answer)
        assert httpx.get(f"{broker.url}/readyz", trust_env=False).status_code == 200


def streams(broker: Running, way: str) -> float:
    text = httpx.get(f"{broker.url}/metrics", trust_env=False).text
    return next((float(line.split()[1]) for line in text.splitlines() if f'tamis_streams{{way="{way}"}}' in line), 0)


def connected(broker: Running, bare: socket.socket) -> bool:
    """Whether the broker still holds its end."""
    theirs = bare.getsockname()[1]
    ends = psutil.Process().net_connections("tcp")
    return any(end.raddr and (end.laddr.port, end.raddr.port) == (broker.port, theirs) for end in ends)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reads", [False, True], ids=["never", "a little"])
def test_who_does_not_read_in_time_is_cut_off_and_loses_nothing(tmp_path: Path, way: str, reads: bool) -> None:
    with running(tmp_path, Settings(write_deadline=0.3)) as broker, broker.client() as client:
        mine = client.subscribe("big = 1")
        client.publish_many([{"big": 1, "padding": PADDING}] * 200)
        if reads:
            with sipping(broker, way, mine, every=0.05):
                assert eventually(lambda: streams(broker, way) == 1)
                assert eventually(lambda: streams(broker, way) == 0)
        else:
            with open_stream(broker, way, mine) as bare:
                assert eventually(lambda: streams(broker, way) == 1)
                assert eventually(lambda: streams(broker, way) == 0)
                assert eventually(
                    lambda: not connected(broker, bare)
                )  # what was not sent is dropped, not kept for later
        assert client.status(mine).cursor == 0
        assert next(iter(client.follow(mine))).cursor == 1
