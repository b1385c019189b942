"""One suite for the client of a running broker and for the broker in memory: they are the same to a user."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.broker.running import Running

from tamis.broker.client import AsyncClient, Client, Handle
from tamis.broker.testing import MemoryBroker
from tamis.errors import BrokerError, ConflictError, TamisError, TicketError


@pytest.fixture(params=["network", "memory"])
def anyone(request: pytest.FixtureRequest, broker: Running) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryBroker()
    else:
        with broker.client() as client:
            yield client


def test_from_subscription_to_acknowledgement(anyone: Any) -> None:
    mine = anyone.subscribe("item = 'camera' and price < 300", owner="alice")
    first = anyone.publish({"item": "camera", "price": 199, "seller": {"city": "Lyon"}})
    anyone.publish({"item": "camera", "price": 400})
    second = anyone.publish({"item": "camera", "price": 1})
    assert (first.matched, second.matched) == (1, 1)
    page = anyone.notifications(mine)
    assert [n.event_id for n in page.notifications] == [first.id, second.id]
    assert [n.cursor for n in page.notifications] == [1, 2]
    assert page.notifications[0].id == f"{mine.id}.1"
    assert page.notifications[0].event == {"item": "camera", "price": 199, "seller": {"city": "Lyon"}}
    assert anyone.notifications(mine, after=1).notifications == page.notifications[1:]
    assert anyone.notifications(mine, limit=1).notifications == page.notifications[:1]
    assert anyone.ack(mine, 1).cursor == 1
    assert anyone.ack(mine, 0).cursor == 1
    assert anyone.notifications(mine).notifications == page.notifications[1:]
    with pytest.raises(BrokerError, match="beyond the newest"):
        anyone.ack(mine, 3)
    told = anyone.status(mine)
    assert (told.owner, told.cursor, told.last) == ("alice", 1, 2)
    anyone.unsubscribe(mine)


def test_tickets_open_one_subscription_and_no_other(anyone: Any) -> None:
    mine, other = anyone.subscribe("a = 1"), anyone.subscribe("a = 2")
    bad = [
        Handle(mine.id, other.ticket),  # foreign
        Handle(mine.id, "tamis_" + "A" * 43),  # forged
        Handle(mine.id, "x"),
        Handle("s999999", mine.ticket),  # unknown
        Handle("e1", mine.ticket),
        Handle(mine.id + "0", mine.ticket),
    ]
    answers = set()
    for handle in bad:
        for call in (
            lambda h: anyone.renew(h, 60),
            lambda h: anyone.replace(h, "a = 3"),
            anyone.unsubscribe,
            anyone.notifications,
            anyone.status,
            anyone.dead_letters,
            lambda h: anyone.ack(h, 0),
            lambda h: anyone.explain(h, {"a": 1}),
        ):
            with pytest.raises(TicketError) as refused:
                call(handle)
            answers.add(str(refused.value))
    assert len(answers) == 1  # wrong and unknown are told alike
    anyone.unsubscribe(mine)
    with pytest.raises(TicketError):  # a ticket used again after its subscription is gone
        anyone.renew(mine, 60)
    anyone.unsubscribe(other)


def test_valid_events_are_replayed_once(anyone: Any) -> None:
    kept = anyone.publish({"replay": 1, "x": 5}, valid_for=600)
    anyone.publish({"replay": 1, "x": 5})
    mine, without = anyone.subscribe("replay = 1"), anyone.subscribe("replay = 1", replay=False)
    assert [n.event_id for n in anyone.notifications(mine).notifications] == [kept.id]
    assert anyone.notifications(without).notifications == []
    anyone.ack(mine, 1)
    anyone.replace(mine, "replay = 1 and x > 3")
    assert anyone.notifications(mine).notifications == []
    anyone.replace(without, "x = 5 and replay = 1")
    assert [n.event_id for n in anyone.notifications(without).notifications] == [kept.id]
    anyone.unsubscribe(mine)
    anyone.unsubscribe(without)


def test_a_key_publishes_once(anyone: Any) -> None:
    mine = anyone.subscribe("k = 1")
    first = anyone.publish({"k": 1}, key="once")
    again = anyone.publish({"k": 1}, key="once")
    assert (again.id, again.matched, again.duplicate) == (first.id, 1, True)
    with pytest.raises(ConflictError):
        anyone.publish({"k": 2}, key="once")
    named = anyone.publish({"l": 1, "m": {"n": 2, "o": 3}}, key="in any order")
    assert anyone.publish({"m": {"o": 3, "n": 2}, "l": 1}, key="in any order").id == named.id
    batch = anyone.publish_many([{"k": 1}, {"k": 1}], key="batch")
    assert anyone.publish_many([{"k": 1}, {"k": 1}], key="batch").ids == batch.ids
    assert len(anyone.notifications(mine).notifications) == 3
    anyone.unsubscribe(mine)


def test_a_batch_leaves_out_what_is_bad(anyone: Any) -> None:
    mine = anyone.subscribe("b > 0")
    answer = anyone.publish_many([{"b": 1}, {"b": 2**70}, {"b": 3}])
    assert answer.matched == [1, 1]
    assert [refused.line for refused in answer.refused] == [2]
    assert "64 bits" in answer.refused[0].error
    anyone.unsubscribe(mine)


def test_explanations(anyone: Any) -> None:
    mine = anyone.subscribe("a > 1 and b = 'x'")
    told = anyone.explain(mine, {"a": 5})
    assert not told.matched
    assert told.text.startswith(f"{mine.id} does not match")
    assert "b is absent" in told.text
    published = anyone.publish({"a": 2, "b": "x"})
    assert anyone.explain(mine, event_id=published.id).matched
    with pytest.raises(TamisError):
        anyone.explain(mine)
    with pytest.raises(TamisError):
        anyone.explain(mine, event_id="e999999999")
    anyone.unsubscribe(mine)


def test_bad_conditions_and_events(anyone: Any) -> None:
    for text in ("price <", "a = 1 and", "", "nonsense("):
        with pytest.raises(TamisError):
            anyone.subscribe(text)
    for event in ({"a": 2**70}, {"": 1}, {"a": {"b": 1}, "a.b": 2}):
        with pytest.raises(TamisError):
            anyone.publish(event)


def test_an_expired_ticket_is_refused_like_a_wrong_one(anyone: Any) -> None:
    mine = anyone.subscribe("a = 1", valid_for=0.001)
    if isinstance(anyone, MemoryBroker):
        anyone.advance(0.01)
    else:
        time.sleep(0.01)
    told = set()
    for handle in (mine, Handle(mine.id, "tamis_" + "A" * 43)):
        for call in (lambda h: anyone.renew(h, 60), anyone.notifications, anyone.status, lambda h: anyone.ack(h, 0)):
            with pytest.raises(TicketError) as refused:
                call(handle)
            told.add(str(refused.value))
    assert len(told) == 1


def test_time_passes() -> None:
    broker = MemoryBroker()
    mine = broker.subscribe("a = 1", valid_for=60)
    broker.publish({"a": 1})
    broker.advance(59)
    broker.renew(mine, 60)
    broker.advance(59)
    assert broker.publish({"a": 1}).matched == 1
    broker.time += 1  # expired, though nothing has been swept yet
    assert broker.publish({"a": 1}).matched == 0
    with pytest.raises(TicketError):
        broker.renew(mine, 60)
    broker.advance(0)
    letters = broker.dead_letters(mine).dead_letters
    assert [letter.reason for letter in letters] == ["the subscription expired"] * 2
    broker.time -= 10_000  # a clock that goes back changes nothing
    assert broker.publish({"a": 1}).matched == 0


def test_the_asynchronous_client(broker: Running, client: Client) -> None:
    async def talk() -> list[Any]:
        async with AsyncClient(broker.url) as other:
            mine = await other.subscribe("async = true")
            await asyncio.gather(*(other.publish({"async": True, "n": n}) for n in range(20)))
            found = []
            async for notification in other.follow(mine):
                found.append(notification.event["n"])
                await other.ack(mine, notification.cursor)
                if len(found) == 20:
                    break
            assert (await other.notifications(mine)).notifications == []
            assert (await other.status(mine)).cursor == 20
            await other.renew(mine, 5)
            await other.replace(mine, "async = false")
            assert (await other.explain(mine, {"async": False})).matched
            assert (await other.publish_many([{"async": False}])).matched == [1]
            assert (await other.dead_letters(mine)).dead_letters == []
            await other.unsubscribe(mine)
            return found

    assert sorted(asyncio.run(talk())) == list(range(20))
