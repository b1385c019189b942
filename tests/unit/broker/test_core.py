"""Rules of the core that the state machine does not reach: what endless use leaves behind."""

import pytest

from tamis.broker.core import TRIM
from tamis.broker.settings import Settings
from tamis.broker.testing import MemoryBroker
from tamis.errors import TicketError


def test_renewals_leave_nothing_behind() -> None:
    broker = MemoryBroker(engine="scan")
    mine = broker.subscribe("a = 1", valid_for=60)
    for _ in range(3 * TRIM):
        broker.renew(mine, 60)
    broker.advance(1)
    assert len(broker.core._expiring) == 1
    broker.advance(58)
    assert broker.publish({"a": 1}).matched == 1
    broker.advance(2)
    with pytest.raises(TicketError):
        broker.renew(mine, 60)


def test_events_nobody_needs_are_deleted_as_fast_as_they_come() -> None:
    broker = MemoryBroker(Settings(event_kept=10, key_kept=10), "scan")
    mine = broker.subscribe("a = 1", valid_for=1000)
    for n in range(5):
        broker.publish_many([{"a": n % 2}] * 1000, key=f"batch {n}")
        broker.advance(1)
    last = broker.status(mine).last
    assert last == 2000
    broker.ack(mine, last)
    broker.advance(11)
    broker.advance(0)
    counts = [
        broker.store.db.execute(f"SELECT count(*) FROM {table}").get for table in ("events", "notifications", "keys")
    ]
    assert counts == [0, 0, 0]
