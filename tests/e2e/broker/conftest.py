from collections.abc import Iterator

import pytest
from tests.e2e.broker.running import Running, running

from tamis.broker.client import Client
from tamis.broker.settings import Settings


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One broker for a file's tests; webhooks may call this machine."""
    settings = Settings(loopback_webhooks=True, webhook_backoff=0.01, webhook_timeout=2, attempts=3, ack_wait=0.5)
    with running(tmp_path_factory.mktemp("broker"), settings) as found:
        yield found


@pytest.fixture
def client(broker: Running) -> Iterator[Client]:
    with broker.client() as found:
        yield found
