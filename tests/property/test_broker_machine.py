"""The broker against a model made of dictionaries: whatever happens in whatever order, with crashes in between."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from tamis.broker.incoming import checked
from tamis.broker.messages import Subscribed
from tamis.broker.settings import Settings
from tamis.broker.store import Store
from tamis.broker.testing import MemoryBroker
from tamis.errors import TicketError

FILTERS: dict[str, Any] = {
    "price < 5": lambda e: "price" in e and e["price"] < 5,
    "item = 'a'": lambda e: e.get("item") == "a",
    "price >= 3 or item = 'b'": lambda e: e.get("price", -1) >= 3 or e.get("item") == "b",
    "not item = 'a'": lambda e: "item" in e and e["item"] != "a",
    "missing(price)": lambda e: "price" not in e,
}
ITEM, PRICE = st.sampled_from("abc"), st.integers(0, 8)
EVENTS = st.fixed_dictionaries({"item": ITEM, "price": PRICE}) | st.fixed_dictionaries({"item": ITEM})
SMALL = Settings(replay_slice=2, queue=6, event_kept=3, key_kept=20, dead_letter_kept=15)
MEMORY = Path("/dev/shm")  # crashes here are of the process, not of the machine: no need to wait for a disk
START = 1_700_000_000.0


@dataclass
class Modelled:
    """What a subscription should be."""

    filter: str
    expires: float
    queue: list[str] = field(default_factory=list)
    cursor: int = 0
    dead: list[tuple[str, float]] = field(default_factory=list)


class BrokerMachine(RuleBasedStateMachine):
    subscriptions = Bundle("subscriptions")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.path = Path(self.folder.name) / "broker.db"
        self.broker = MemoryBroker(SMALL, "scan", START, Store(self.path))
        self.model: dict[str, Modelled] = {}
        self.opened: dict[str, Subscribed] = {}
        self.events: dict[str, tuple[dict[str, Any], float]] = {}
        self.keys: dict[str, tuple[str, float]] = {}

    def teardown(self) -> None:
        self.broker.store.close()
        self.folder.cleanup()

    @property
    def now(self) -> float:
        return self.broker.time

    @rule(
        target=subscriptions,
        filter=st.sampled_from(sorted(FILTERS)),
        valid_for=st.integers(1, 30),
        replay=st.booleans(),
    )
    def subscribe(self, filter: str, valid_for: int, replay: bool) -> Subscribed:
        mine = self.broker.subscribe(filter, valid_for=valid_for, replay=replay)
        self.model[mine.id] = Modelled(filter, self.now + valid_for)
        self.opened[mine.id] = mine
        if replay:
            self.replay(self.model[mine.id])
        return mine

    def replay(self, told: Modelled) -> None:
        for name, (event, valid_until) in self.events.items():
            if valid_until > self.now and name not in told.queue and FILTERS[told.filter](event):
                told.queue.append(name)

    @initialize(target=subscriptions, filters=st.lists(st.sampled_from(sorted(FILTERS)), min_size=2, max_size=3))
    def subscribe_some(self, filters: list[str]) -> MultipleResults[Subscribed]:
        opened: list[Any] = [self.subscribe(filter, 25, True) for filter in filters]
        return multiple(*opened)

    @rule(events=st.lists(EVENTS, min_size=1, max_size=4), valid_for=st.sampled_from([0, 5, 20]))
    def publish_some(self, events: list[dict[str, Any]], valid_for: int) -> None:
        for event in events:
            self.publish(event, valid_for, None)

    @rule(event=EVENTS, valid_for=st.sampled_from([0, 20]), key=st.sampled_from("xy"))
    def publish(self, event: dict[str, Any], valid_for: int, key: str | None) -> None:
        full_key = None if key is None else f"{key}{sorted(event.items())}{valid_for}"
        answer = self.broker.publish(event, valid_for=valid_for, key=full_key)
        known = self.keys.get(full_key or "")
        if full_key is not None and known is not None and known[1] > self.now:
            assert answer.duplicate
            assert answer.id == known[0]
            return
        assert not answer.duplicate
        assert answer.id not in self.events
        if full_key is not None:
            self.keys[full_key] = (answer.id, self.now + SMALL.key_kept)
        self.events[answer.id] = (event, self.now + valid_for)
        hit = [m for m in self.model.values() if m.expires > self.now and FILTERS[m.filter](event)]
        assert answer.matched == len(hit)
        for told in hit:
            told.queue.append(answer.id)
            for n in range(told.cursor, len(told.queue) - SMALL.queue):
                told.dead.append((told.queue[n], self.now))
                told.cursor = n + 1

    @rule(mine=subscriptions, valid_for=st.integers(1, 30))
    def renew(self, mine: Subscribed, valid_for: int) -> None:
        if self.stands(mine):
            self.broker.renew(mine, valid_for)
            self.model[mine.id].expires = self.now + valid_for
        else:
            with pytest.raises(TicketError):
                self.broker.renew(mine, valid_for)

    @rule(mine=subscriptions, filter=st.sampled_from(sorted(FILTERS)), replay=st.booleans())
    def replace(self, mine: Subscribed, filter: str, replay: bool) -> None:
        if self.stands(mine):
            self.broker.replace(mine, filter, replay=replay)
            self.model[mine.id].filter = filter
            if replay:
                self.replay(self.model[mine.id])

    @rule(mine=subscriptions, share=st.floats(0, 1))
    def acknowledge(self, mine: Subscribed, share: float) -> None:
        if self.stands(mine):
            told = self.model[mine.id]
            told.cursor = max(told.cursor, int(len(told.queue) * share))
            assert self.broker.ack(mine, told.cursor).cursor == told.cursor

    @rule(mine=consumes(subscriptions))
    def unsubscribe(self, mine: Subscribed) -> None:
        if self.stands(mine):
            self.broker.unsubscribe(mine)
            del self.model[mine.id]
        with pytest.raises(TicketError):
            self.broker.unsubscribe(mine)

    @rule(seconds=st.integers(1, 12))
    def advance(self, seconds: int) -> None:
        self.broker.advance(seconds)
        for told in self.model.values():
            if told.expires <= self.now and told.cursor < len(told.queue):
                told.dead += [(name, self.now) for name in told.queue[told.cursor :]]
                told.cursor = len(told.queue)

    @rule()
    def crash(self) -> None:
        self.restart()

    @rule(event=EVENTS, filter=st.sampled_from(sorted(FILTERS)))
    def crash_before_commit(self, event: dict[str, Any], filter: str) -> None:
        """Changes that were never committed, and so never acknowledged, are gone."""
        core = self.broker.core
        core.begin()
        self.broker.store.begin()
        core.subscribe(filter)
        core.publish([checked(event, SMALL, 5000, None)])
        core.sweep()
        self.restart()

    @rule(event=EVENTS, filter=st.sampled_from(sorted(FILTERS)))
    def roll_back(self, event: dict[str, Any], filter: str) -> None:
        """The same without a crash: the disk was full."""
        core = self.broker.core
        core.begin()
        self.broker.store.begin()
        opened = core.subscribe(filter)
        core.publish([checked(event, SMALL, 5000, None)])
        core.replace(opened.number, opened.ticket, "true")
        core.unsubscribe(opened.number, opened.ticket)
        core.sweep()
        self.broker.store.rollback()
        core.rollback()

    def restart(self) -> None:
        time = self.now
        self.broker.store.db.close(True)
        self.broker = MemoryBroker(SMALL, "scan", time, Store(self.path))

    def stands(self, mine: Subscribed) -> bool:
        return mine.id in self.model and self.model[mine.id].expires > self.now

    @invariant()
    def queues_agree(self) -> None:
        """Every queue is what it should be, in order, with the ids it had; so are the recent dead letters."""
        for name, told in self.model.items():
            mine = self.opened[name]
            if told.expires <= self.now:
                with pytest.raises(TicketError):
                    self.broker.notifications(mine)
                continue
            found = self.broker.notifications(mine).notifications
            assert [n.event_id for n in found] == told.queue[told.cursor :]
            assert [n.id for n in found] == [f"{name}.{n + 1}" for n in range(told.cursor, len(told.queue))]
            assert [n.event for n in found] == [self.events[n.event_id][0] for n in found]
            recent = [name for name, at in told.dead if at >= self.now - SMALL.dead_letter_kept]
            buried = [letter.event_id for letter in self.broker.dead_letters(mine).dead_letters]
            assert buried[len(buried) - len(recent) :] == recent

    @invariant()
    def counts_agree(self) -> None:
        live = {int(name[1:]) for name, told in self.model.items() if told.expires > self.now}
        assert live <= set(self.broker.core.standing)
        assert set(self.broker.core.matcher) == set(self.broker.core.standing)


BrokerMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestBroker = BrokerMachine.TestCase


def test_sweep_deletes_what_nobody_needs() -> None:
    """In the end only what is needed is kept."""
    broker = MemoryBroker(SMALL)
    mine = broker.subscribe("price < 5", valid_for=1000)
    for _ in range(5):
        broker.publish({"price": 1})
    broker.publish({"price": 9})
    broker.ack(mine, 4)
    for _ in range(3):
        broker.advance(10)
    kept = broker.store.db.execute("SELECT seq FROM events").fetchall()
    assert kept == [(5,)]
    assert broker.store.db.execute("SELECT count(*) FROM notifications").get == 1
