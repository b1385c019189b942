"""Strangers: oversized, malformed, forged, explosive. Everything is refused with a clear problem, and the broker lives on."""

import io
import threading
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from tests.e2e.broker.running import Running, running

from tamis.broker.client import Client
from tamis.broker.settings import Settings
from tamis.broker.tickets import digest
from tamis.errors import BrokerError, BusyError


@pytest.fixture
def http(broker: Running) -> Any:
    with httpx.Client(base_url=broker.url, trust_env=False, timeout=60) as found:
        yield found


def refused(response: httpx.Response, *statuses: int) -> str:
    assert response.status_code in statuses, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code
    return str(problem["detail"])


BAD_EVENTS = [
    b"",
    b"null",
    b"[]",
    b"3",
    b"{",
    b'{"a": 1',
    b'{"a": 1} {"b": 2}',
    b'{"a": 1, "a": 2}',
    b'{"a": {"b": 1, "b": 1}}',
    b'{"a": NaN}',
    b'{"a": Infinity}',
    b'{"a": 1e999}',
    b'{"a": 9223372036854775808}',
    b'{"a": ' + b"9" * 5000 + b"}",
    b'{"a": "\\ud800"}',
    b'{"\\udc00": 1}',
    b'{"a": "\xff"}',
    b'{"": 1}',
    b'{"a.b": 1, "a": {"b": 2}}',
    b'{"a":' * 40 + b"1" + b"}" * 40,
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"{" + b",".join(b'"a%d": 1' % n for n in range(257)) + b"}",
    b'{"a": [' + b",".join([b"1"] * 5000) + b"]}",
]


@pytest.mark.parametrize("body", BAD_EVENTS, ids=lambda body: repr(body[:20]))
def test_bad_events(http: httpx.Client, body: bytes) -> None:
    refused(http.post("/v1/events", content=body), 422)


def test_oversized_bodies(http: httpx.Client) -> None:
    refused(http.post("/v1/events", content=b'{"a": "' + b"x" * 262_144 + b'"}'), 413, 422)
    refused(http.post("/v1/events", content=b"x" * 400_000), 413)
    refused(http.post("/v1/subscriptions", content=b"x" * 400_000), 413)
    refused(http.post("/v1/events/batch", content=b"x" * (17 << 20)), 413)
    lines = {"content-type": "application/x-ndjson"}
    refused(http.post("/v1/events/batch", content=b'{"a":1}\n' * 10_001, headers=lines), 422)


BAD_SUBSCRIPTIONS: list[Any] = [
    b"",
    b"{",
    b"[]",
    b'{"filter": "a = 1", "filter": "a = 2"}',
    {"filter": 3},
    {"filter": "a = 1", "valid_for": -1},
    {"filter": "a = 1", "valid_for": 10**8},
    b'{"filter": "a = 1", "valid_for": NaN}',
    b'{"filter": "a = \'\\ud800\'"}',
    {"filter": "a = 1", "unknown": 1},
    {"filter": "a = 1", "owner": "x" * 300},
    {"filter": "a = '" + "x" * 5000 + "'"},
    {"filter": "(" * 3000 + "a = 1" + ")" * 3000},
    {"filter": "not " * 1000 + "a = 1"},
    {"filter": " and ".join(f"a{n} = 1" for n in range(65))},
    {"filter": " and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(30))},  # 2^30 terms
    {"filter": "not (" + " or ".join(f"(a{n} = 1 and b{n} = 1)" for n in range(30)) + ")"},
    {"filter": "a matches '(?=x)'"},
    {"filter": "a matches '(a)\\1'"},
    {"filter": "a matches '" + "(" * 500 + "'"},
    {"filter": "a matches '((((a{1000}){1000}){1000}){1000})'"},
    {"filter": "pedestrianCount(?n) and ?n > 2"},  # operators are off
]


@pytest.mark.parametrize("body", BAD_SUBSCRIPTIONS, ids=lambda body: repr(body)[:30])
def test_bad_subscriptions(http: httpx.Client, body: Any) -> None:
    given = (
        {"content": body, "headers": {"content-type": "application/json"}}
        if isinstance(body, bytes)
        else {"json": body}
    )
    refused(http.post("/v1/subscriptions", **given), 400, 422)


def test_patterns_that_hang_others_do_not_hang_this(client: Client) -> None:
    mine = client.subscribe("a matches '^(a+)+$' and a matches '(a|aa)+$' and a matches '(.*)*x'")
    assert client.publish({"a": "a" * 50_000 + "!"}).matched == 0
    client.unsubscribe(mine)


TARGETS = [
    "http://example.com/",
    "ftp://example.com/",
    "https://10.0.0.1/",
    "https://192.168.1.1/",
    "https://172.16.5.5/",
    "https://169.254.169.254/latest/meta-data",
    "https://100.64.0.1/",
    "https://0.0.0.0/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://[fd00::1]/",
    "https://[fe80::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::a00:1]/",
    "https://[2002:0a00:0001::1]/",
    "https://0x0a000001/",
    "https://167772161/",
    "https://012.0.0.1/",
    "https://10.1/",
    "https://intranet/",
    "https://db.internal/",
    "https://user:pass@example.com/",
    "https://example.com:99999/",
    "https://exa mple.com/",
    "https://",
    "javascript:alert(1)",
    "",
]


@pytest.mark.parametrize("url", TARGETS)
def test_webhooks_point_outside_only(client: Client, url: str) -> None:
    with pytest.raises(BrokerError):
        client.subscribe("a = 1", webhook=url)


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/", "https://localhost/", "https://[::1]/", "http://127.0.0.1/", "https://127.1/"]
)
def test_loopback_only_where_it_was_allowed(tmp_path: Path, url: str) -> None:
    from tamis.broker.delivery.targets import check_url
    from tamis.errors import TargetError

    check_url(url, loopback=True)
    with pytest.raises(TargetError):
        check_url(url, loopback=False)


def test_batches_of_arrow(client: Client, http: httpx.Client) -> None:
    mine = client.subscribe("arrow > 1")
    table = pa.table({"arrow": [1, 2, None, 4], "s": ["a", None, "c", "d"], "l": [[1], [2, 3], [], None]})

    def stream(**options: Any) -> bytes:
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table)
        return sink.getvalue()

    headers = {"content-type": "application/vnd.apache.arrow.stream"}
    good = stream()
    answer = http.post("/v1/events/batch", content=good, headers=headers)
    assert answer.status_code == 201
    assert answer.json()["matched"] == [0, 1, 0, 1]
    assert [n.event for n in client.notifications(mine).notifications] == [
        {"arrow": 2, "l": [2, 3]},
        {"arrow": 4, "s": "d"},
    ]
    assert "compressed" in refused(
        http.post("/v1/events/batch", content=stream(compression="zstd"), headers=headers), 422
    )
    refused(http.post("/v1/events/batch", content=b"", headers=headers), 422)
    refused(http.post("/v1/events/batch", content=b"junk" * 100, headers=headers), 422)
    refused(http.post("/v1/events/batch", content=good, headers={"content-type": "text/csv"}), 415)
    client.unsubscribe(mine)


def test_api_keys(tmp_path: Path) -> None:
    with running(tmp_path, Settings(api_keys=(digest("secret"), digest("other")))) as broker:
        for key in (None, "wrong", "secret2"):
            with broker.client(key=key) as client, pytest.raises(BrokerError, match="API key"):
                client.publish({"a": 1})
        with broker.client(key="other") as client:
            mine = client.subscribe("a = 1")
            assert client.publish({"a": 1}).matched == 1
        with broker.client() as client:  # the ticket is enough for what is one's own
            assert len(client.notifications(mine).notifications) == 1
            with pytest.raises(BrokerError, match="API key"):
                client.subscribe("a = 1")


def test_overload_is_answered_and_passes(tmp_path: Path) -> None:
    """Ten times more than fits: refused with Retry-After, nothing acknowledged is lost, and then all is well again."""

    settings = Settings(waiting_commands=4, requests=24, requests_per_client=16, group_events=2)
    counts = {"taken": 0, "busy": 0}
    lock = threading.Lock()
    with running(tmp_path, settings) as broker:
        with broker.client() as client:
            mine = client.subscribe("load = 1")

        def flood() -> None:
            with broker.client() as client:
                for _ in range(5):
                    try:
                        client.publish({"load": 1})
                        outcome = "taken"
                    except BusyError:
                        outcome = "busy"
                    with lock:
                        counts[outcome] += 1

        threads = [threading.Thread(target=flood) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts["busy"] > 0
        assert sum(counts.values()) == 200
        with broker.client() as client:
            assert client.status(mine).last == counts["taken"]
            assert client.publish({"load": 1}).matched == 1
