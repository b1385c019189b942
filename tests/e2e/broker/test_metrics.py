"""What `/metrics` counts."""

from pathlib import Path
from typing import Any

import httpx
from tests.e2e.broker.running import Running, running

from tamis.broker.settings import Settings
from tamis.operators import Registry


def value(broker: Running, name: str) -> float:
    text = httpx.get(f"{broker.url}/metrics", trust_env=False).text
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))


def test_events_matches_queues_and_failures_of_operators(tmp_path: Path) -> None:
    registry = Registry()

    @registry.operator("odd")
    def odd(event: Any) -> bool:
        return bool(event["n"] % 2)  # a word has no remainder

    with running(tmp_path, Settings(operators=registry)) as broker, broker.client() as client:
        mine = client.subscribe("kind = 1 and odd()")
        for n in (1, 2, "word", 3, "another"):
            client.publish({"kind": 1, "n": n})
        assert value(broker, "tamis_events_total") == 5
        assert value(broker, "tamis_matches_total") == 2
        assert value(broker, "tamis_operator_failures_total") == 2
        assert value(broker, "tamis_queue_depth") == 2
        assert value(broker, "tamis_commit_seconds_count") >= 6
        client.ack(mine, 2)
        client.unsubscribe(mine)
        assert value(broker, "tamis_queue_depth") == 0
        assert value(broker, "tamis_operator_failures_total") == 2
