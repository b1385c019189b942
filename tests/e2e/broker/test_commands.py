"""The commands that talk to a broker, against a running one."""

import json

from tests.e2e.broker.running import Running
from tests.e2e.conftest import Run


def test_subscribe_publish_and_tail(run: Run, broker: Running, tmp_path):
    made = json.loads(run("subscribe", "item = 'lens' and price < 300", "--url", broker.url).out)
    (tmp_path / "e.csv").write_text("item,price\nlens,199\nlens,400\nlens\nlens,12.5\n")
    done = run("publish", "e.csv", "--url", broker.url)
    assert done.code == 1
    assert "e.csv:4: 1 fields, but the header has 2" in done.err
    assert "published 3 events, 2 notifications" in done.err
    done = run("tail", made["id"], "--ticket", made["ticket"], "--count", "2", "--url", broker.url)
    assert done.code == 0, done.err
    told = [json.loads(line)["event"] for line in done.out.splitlines()]
    assert told == [{"item": "lens", "price": 199}, {"item": "lens", "price": 12.5}]


def test_events_the_broker_refuses_are_told_with_their_line(run: Run, broker: Running):
    stdin = b'{"a": 1}\n\n{"a": {"b": 1}, "a.b": 2}\n[1]\n'
    done = run("publish", "--url", broker.url, stdin=stdin)
    assert done.code == 1
    places = [line.split(": ")[0] for line in done.err.splitlines() if line.startswith("standard input:")]
    assert sorted(places) == ["standard input:3", "standard input:4"]


def test_a_broker_that_is_not_there(run: Run):
    done = run("subscribe", "a = 1", "--url", "http://127.0.0.1:9")
    assert done.code == 1
    assert "127.0.0.1:9" in done.err
    assert "Traceback" not in done.err


def test_a_malformed_filter(run: Run, broker: Running):
    done = run("subscribe", "a =", "--url", broker.url)
    assert done.code == 1
    assert "column 4" in done.err
