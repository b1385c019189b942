"""A broker in memory for tests of your own: the interface of `Client`, the same rules and store, no network and no disk.

    >>> broker = MemoryBroker()
    >>> mine = broker.subscribe("price < 300", valid_for=60)
    >>> broker.publish({"price": 199}).matched
    1
    >>> broker.advance(61)
    >>> broker.publish({"price": 199}).matched
    0

Time stands still until `advance` is called.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from tamis.broker import messages
from tamis.broker.calls import Opens
from tamis.broker.core import Core, Incoming, Outcome, check_owner
from tamis.broker.delivery.envelope import encode
from tamis.broker.incoming import checked, key_digest
from tamis.broker.index import restore
from tamis.broker.names import event_number, subscription_number
from tamis.broker.rows import Delivery
from tamis.broker.settings import DAY, Settings
from tamis.broker.store import Store
from tamis.errors import EventError, TamisError

T = TypeVar("T")


class MemoryBroker:
    """One thread, one process, nothing kept."""

    def __init__(
        self,
        settings: Settings | None = None,
        engine: str | None = None,
        start: float = 1_700_000_000,
        store: Store | None = None,
    ) -> None:
        """Give a `store` of your own to look into it, or to go on where another broker stopped."""
        self.settings, self.time = settings or Settings(), start
        self.store = store or Store(":memory:")
        matcher = restore(None, self.store.conditions(), self.settings, engine)
        self.core = Core(self.store, matcher, self.settings, lambda: self.time)

    def advance(self, seconds: float) -> None:
        """Let time pass, with all that comes of it."""
        self.time += seconds
        self._do(Core.sweep)

    def _do(self, call: Callable[[Core], T]) -> T:
        self.core.begin()
        self.store.begin()
        try:
            result = call(self.core)
            while self.core.replaying:
                self.core.continue_replay()
        except BaseException:
            self.store.rollback()
            self.core.rollback()
            raise
        self.store.commit()
        return result

    def subscribe(
        self,
        filter: str,
        *,
        owner: str | None = None,
        valid_for: float = DAY,
        replay: bool = True,
        webhook: str | None = None,
    ) -> messages.Subscribed:
        """Leave a condition; a webhook is remembered but never called."""
        hook = (webhook, "") if webhook is not None else None
        opened = self._do(lambda core: core.subscribe(filter, owner, ms(valid_for), replay, hook))
        return messages.Subscribed(id=f"s{opened.number}", ticket=opened.ticket, expires=opened.expires / 1000)

    def status(self, mine: Opens) -> messages.Status:
        """A subscription and where its queue stands."""
        number = subscription_number(mine.id)
        row = self.core.authorise(number, mine.ticket)
        return messages.Status(
            id=mine.id,
            filter=row.filter,
            owner=row.owner,
            created=row.created / 1000,
            expires=row.expires / 1000,
            cursor=row.cursor,
            last=self.core.standing[number].last,
            webhook=row.webhook,
        )

    def renew(self, mine: Opens, valid_for: float = DAY) -> messages.Renewed:
        """Stand until `valid_for` seconds from now."""
        expires = self._do(lambda core: core.renew(subscription_number(mine.id), mine.ticket, ms(valid_for)))
        return messages.Renewed(id=mine.id, expires=expires / 1000)

    def replace(self, mine: Opens, filter: str, *, replay: bool = True) -> None:
        """Another condition for the same queue."""
        self._do(lambda core: core.replace(subscription_number(mine.id), mine.ticket, filter, replay))

    def unsubscribe(self, mine: Opens) -> None:
        """Forget the subscription and its queue."""
        self._do(lambda core: core.unsubscribe(subscription_number(mine.id), mine.ticket))

    def publish(self, event: Mapping[str, Any], *, valid_for: float = 0, key: str | None = None) -> messages.Published:
        """Publish an event."""
        item = checked(dict(event), self.settings, ms(valid_for), key_digest(key))
        (outcome,) = self._do(lambda core: core.publish([item]))
        if not isinstance(outcome, Outcome):
            raise outcome
        return messages.Published(id=f"e{outcome.event}", matched=outcome.matched, duplicate=outcome.duplicate)

    def publish_many(
        self, events: Iterable[Mapping[str, Any]], *, valid_for: float = 0, key: str | None = None
    ) -> messages.BatchPublished:
        """Publish many events; bad ones are told by their line."""
        items: list[Incoming] = []
        refused: list[messages.Refused] = []
        for line, event in enumerate(events, 1):
            try:
                items.append(checked(dict(event), self.settings, ms(valid_for), key_digest(key, line)))
            except TamisError as problem:
                refused.append(messages.Refused(line=line, error=str(problem)))
        done = [o for o in self._do(lambda core: core.publish(items)) if isinstance(o, Outcome)]
        return messages.BatchPublished(
            ids=[f"e{o.event}" for o in done], matched=[o.matched for o in done], refused=refused
        )

    def notifications(
        self, mine: Opens, *, after: int | None = None, limit: int = 100, wait: float = 0
    ) -> messages.Page:
        """The next notifications; there is nothing to wait for."""
        number = subscription_number(mine.id)
        row = self.core.authorise(number, mine.ticket)
        found = self.store.page(number, row.cursor if after is None else after, limit)
        return messages.Page(notifications=[as_message(number, d) for d in found], cursor=row.cursor)

    def ack(self, mine: Opens, cursor: int) -> messages.Acknowledged:
        """Everything up to `cursor` has been dealt with."""
        stands = self._do(lambda core: core.acknowledge(subscription_number(mine.id), mine.ticket, cursor))
        return messages.Acknowledged(cursor=stands)

    def dead_letters(self, mine: Opens, *, after: int | None = None, limit: int = 100) -> messages.DeadLetters:
        """Notifications that were given up."""
        number = subscription_number(mine.id)
        check_owner(self.store.subscription(number), mine.ticket)
        found = self.store.dead_letters(number, after or 0, limit)
        letters = [messages.DeadLetter.model_validate_json(encode(number, d)) for d in found]
        return messages.DeadLetters(dead_letters=letters)

    def explain(
        self, mine: Opens, event: Mapping[str, Any] | None = None, *, event_id: str | None = None
    ) -> messages.Explained:
        """Why the subscription does or does not match an event."""
        number = subscription_number(mine.id)
        self.core.authorise(number, mine.ticket)
        if (event is None) == (event_id is None):
            raise EventError("give either event or event_id")
        if event_id is not None:
            kept = self.store.event(event_number(event_id))
            if kept is None:
                raise EventError(f"event {event_id!r} is not kept any more, or never was")
            event = msgspec.json.decode(kept.body)
        told = self.core.explain(number, dict(event or {}))
        return messages.Explained(id=mine.id, matched=told.matched, tree=told.data, text=told.text)

    def follow(self, mine: Opens, *, after: int | None = None) -> Iterator[messages.Notification]:
        """What is in the queue; ends where a real broker would wait."""
        while page := self.notifications(mine, after=after).notifications:
            yield from page
            after = page[-1].cursor


def ms(seconds: float) -> int:
    """Milliseconds."""
    return round(seconds * 1000)


def as_message(number: int, delivery: Delivery) -> messages.Notification:
    """A notification as clients see it."""
    return messages.Notification.model_validate_json(encode(number, delivery))
