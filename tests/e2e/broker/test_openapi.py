"""The OpenAPI document is true: whatever it allows to be sent is answered as described, and never with a 5xx."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.e2e.broker.running import Running, running

from tamis.broker.client import Client
from tamis.broker.settings import Settings

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream")
def as_bytes(context: Any, value: Any) -> bytes:
    """Batches are sent as they are drawn."""
    raw = value if isinstance(value, (str, bytes)) else getattr(value, "data", str(value))
    return raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that does not wait a minute because a drawn request asks it to."""
    with running(tmp_path_factory.mktemp("broker"), Settings(long_poll_max=0.05)) as found:
        yield found


@pytest.fixture(scope="module")
def operations(broker: Running) -> Any:
    document = httpx.get(f"{broker.url}/openapi.json", trust_env=False).json()
    results: Any = schemathesis.openapi.from_dict(document).get_all_operations()
    found = [result.ok() for result in results]
    return [operation for operation in found if not operation.path.endswith("/stream")]  # a stream does not end


@pytest.mark.parametrize("known", [False, True], ids=["stranger", "owner"])
def test_every_operation(broker: Running, client: Client, operations: Any, known: bool) -> None:
    assert len(operations) >= 13
    for operation in operations:
        mine = client.subscribe("a = 1") if known else None
        if mine is None or "{id}" in operation.path:
            ask(broker, operation, mine)


def ask(broker: Running, operation: Any, mine: Any) -> None:
    @given(case=operation.as_strategy())
    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def once(case: Any) -> None:
        if mine is not None:
            case.path_parameters["id"] = mine.id
            case.headers["authorization"] = f"Bearer {mine.ticket}"
        response = case.call(base_url=broker.url, timeout=60)
        case.validate_response(response, checks=CHECKS)

    once()
