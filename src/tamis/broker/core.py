"""The rules of the broker, without sockets, disks or clocks: a ledger keeps the rows, a matcher finds, `clock` tells the time.

All calls come from one thread and in groups: `begin`, calls, then the ledger commits, or the caller tells `rollback` and the
core forgets what the group did. Every call checks first and changes last, so a refused one leaves nothing behind.

A subscription's queue is numbered 1, 2, 3, …; `last` is the newest notification and `cursor` the last acknowledged one. An
event meets a subscription once: when it is published, or, if the subscription is younger, by replay while it is valid.
"""

import hashlib
import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from tamis.broker.ledger import Ledger
from tamis.broker.rows import Attempt, Event, Key, Notification, Subscription
from tamis.broker.settings import Settings
from tamis.broker.tickets import digest, fits, new_ticket
from tamis.errors import BrokerError, ConflictError, TicketError
from tamis.matcher import Explanation, Matcher
from tamis.model.event import Event as Values

TRIM, TRIM_ROWS = 1000, 10_000  # queues, and rows of other kinds, that one sweep looks at


@dataclass(slots=True)
class Standing:
    """What matching needs to know of a subscription: until when it stands, and where its queue is."""

    expires: int
    cursor: int
    last: int
    webhook: bool


class Incoming(NamedTuple):
    """An event to publish: its values, its JSON, how long it stays valid (ms), and the digest of an idempotency key."""

    values: Values
    body: bytes
    valid_for: int = 0
    key: bytes | None = None


class Outcome(NamedTuple):
    """What became of a published event."""

    event: int
    matched: int
    duplicate: bool = False


class Opened(NamedTuple):
    """A new subscription and its secret."""

    number: int
    ticket: str
    expires: int


class Core:
    """Subscriptions, their queues and the events that are still valid."""

    def __init__(self, ledger: Ledger, matcher: Matcher, settings: Settings, clock: Callable[[], float]) -> None:
        """`matcher` holds exactly the standing subscriptions of the ledger, under their numbers."""
        self.ledger, self.matcher, self.settings, self._clock = ledger, matcher, settings, clock
        self._number, self._seq, self._latest = ledger.counters()
        self.standing: dict[int, Standing] = {}
        self._expiring: list[tuple[int, int]] = []
        self.replaying: deque[int] = deque()
        self._trimming: dict[int, None] = {}  # in the order they came
        self._trimmed_to = 0
        self.touched: set[int] = set()
        self.changes = self.dead = 0
        self._undo: list[Callable[[], object]] = []
        for number, expires, cursor, webhook, replaying in ledger.standings():
            self.standing[number] = Standing(expires, cursor, cursor, bool(webhook))
            self._expiring.append((expires, number))
            if cursor:
                self._trimming[number] = None
            if replaying:
                self.replaying.append(number)
        for number, last in ledger.tails():
            if number in self.standing:
                self.standing[number].last = max(last, self.standing[number].cursor)
        heapq.heapify(self._expiring)

    # ── groups ──
    def begin(self) -> None:
        """A group of calls starts."""
        self._undo.clear()
        self.touched = set()

    def rollback(self) -> None:
        """The group did not reach the ledger: be as before it."""
        for step in reversed(self._undo):
            step()
        self.begin()

    def now(self) -> int:
        """Milliseconds; never back, whatever the clock does."""
        self._latest = self.peek()
        return self._latest

    def peek(self) -> int:
        """The same for other threads than the writer's."""
        return max(self._latest, int(self._clock() * 1000))

    # ── subscribers ──
    def subscribe(
        self,
        filter: str,
        owner: str | None = None,
        valid_for: int = 86_400_000,
        replay: bool = True,
        webhook: tuple[str, str] | None = None,
    ) -> Opened:
        """A new standing condition; `webhook` is an address and the secret to sign with."""
        now, ticket, number = self.now(), new_ticket(), self._number + 1
        url, secret = webhook or (None, None)
        self.matcher.subscribe(number, filter)
        self._undo.append(lambda: self.matcher.unsubscribe(number))
        start = 0 if replay else self._seq
        row = Subscription(
            number, digest(ticket), filter, owner, now, now + valid_for,
            replay_from=start, replay_to=self._seq, webhook=url, secret=secret,
        )  # fmt: skip
        self._number = number  # never given twice, not even after a rollback
        self._stand(row, Standing(row.expires, 0, 0, url is not None))
        self.ledger.put(row)
        self._replay(row)
        self.changes += 1
        return Opened(number, ticket, row.expires)

    def renew(self, number: int, ticket: str, valid_for: int) -> int:
        """Stand until `valid_for` from now; returns the new end."""
        row = self.authorise(number, ticket)
        standing, expires = self.standing[number], self.now() + valid_for
        self._undo.append(lambda: setattr(standing, "expires", row.expires))
        standing.expires = expires
        heapq.heappush(self._expiring, (expires, number))
        self.ledger.put(replace(row, expires=expires))
        return expires

    def replace(self, number: int, ticket: str, filter: str, replay: bool = True) -> None:
        """Another condition for the same queue; valid events that have not met this subscription are replayed."""
        row = self.authorise(number, ticket)
        self.matcher.replace(number, filter)
        self._undo.append(lambda: self.matcher.replace(number, row.filter))
        start = 0 if replay else self._seq
        row = replace(row, filter=filter, replay_from=start, replay_to=self._seq)
        self.ledger.put(row)
        self._replay(row)
        self.changes += 1

    def unsubscribe(self, number: int, ticket: str) -> None:
        """Forget the subscription and its queue."""
        row = self.authorise(number, ticket)
        self._fall(row)
        self.ledger.drop(number)

    def acknowledge(self, number: int, ticket: str, cursor: int) -> int:
        """Everything up to `cursor` has been dealt with; returns where the cursor stands. It never moves back."""
        row = self.authorise(number, ticket)
        if cursor > self.standing[number].last:
            raise BrokerError(f"the cursor {cursor} is beyond the newest notification, {self.standing[number].last}")
        return self._advance(row, cursor)

    def authorise(self, number: int, ticket: str) -> Subscription:
        """The subscription a ticket opens; one that has expired is as unknown as one that never was."""
        row = self.ledger.subscription(number)
        return check_ticket(row, ticket, self.now())

    def explain(self, number: int, event: dict[str, Any]) -> Explanation:
        """Predicate by predicate, why a subscription does or does not match."""
        if number not in self.matcher:
            raise TicketError
        told = self.matcher.explain(number, event)
        return replace(told, text=told.text.replace(str(number), f"s{number}", 1))

    # ── deliverers ──
    def delivered(self, number: int, n: int) -> None:
        """A webhook took notification `n`."""
        row = self.ledger.subscription(number)
        if row is not None and not row.ended:
            self._advance(row, n)

    def refused(self, number: int, n: int, made: int, pause: float) -> None:
        """A webhook did not take notification `n`, for the `made`-th time; it is offered again in `pause` seconds."""
        if number in self.standing:
            self.ledger.put_attempt(Attempt(number, n, made, self.now() + int(pause * 1000)))

    def give_up(self, number: int, n: int, reason: str) -> None:
        """Nobody acknowledges notification `n`: it and what stands before it become dead letters."""
        row = self.ledger.subscription(number)
        if row is not None and not row.ended and n > row.cursor:
            self.dead += self.ledger.bury(number, row.cursor, n, reason, self.now())
            self._advance(row, n)

    # ── publishers ──
    def publish(self, incoming: Sequence[Incoming]) -> list[Outcome | ConflictError]:
        """Match and record events; those of one call are matched together. A key used before gives the earlier outcome."""
        now = self.now()
        outcomes, fresh, twins = self._keys(incoming, now)
        found = self.matcher.match_events([incoming[i].values for i in fresh])
        events: list[Event] = []
        notifications: list[Notification] = []
        keys: list[Key] = []
        before = {number: self.standing[number].last for ids in found for number in ids}  # type: ignore[index]
        self._undo.append(lambda: self._restore(before))
        for i, ids in zip(fresh, found, strict=True):
            item = incoming[i]
            self._seq += 1
            events.append(Event(self._seq, now, now + item.valid_for, item.body))
            matched = 0
            for number in ids:
                standing = self.standing[number]  # type: ignore[index]
                if standing.expires > now:
                    standing.last += 1
                    matched += 1
                    notifications.append(Notification(number, standing.last, self._seq))  # type: ignore[arg-type]
            outcomes[i] = Outcome(self._seq, matched)
            if item.key is not None:
                expires = now + int(self.settings.key_kept * 1000)
                keys.append(Key(item.key, content_digest(item), self._seq, matched, expires))
        self.ledger.add(events, notifications, keys)
        self.touched.update(row.subscription for row in notifications)
        self._shorten(before)
        for i, first in twins.items():
            outcomes[i] = outcomes[first]._replace(duplicate=True)  # type: ignore[union-attr]
        return [outcomes[i] for i in range(len(incoming))]

    def _keys(
        self, incoming: Sequence[Incoming], now: int
    ) -> tuple[dict[int, Outcome | ConflictError], list[int], dict[int, int]]:
        """What is known already by its key, the positions of what is not, and those that repeat an earlier one of them."""
        known: dict[int, Outcome | ConflictError] = {}
        first: dict[bytes, int] = {}
        twins: dict[int, int] = {}
        fresh = []
        for i, item in enumerate(incoming):
            if item.key is None:
                fresh.append(i)
                continue
            row = self.ledger.key(item.key)
            if row is not None and row.expires > now:
                same = row.content == content_digest(item)
                known[i] = Outcome(row.event, row.matched, duplicate=True) if same else conflict()
            elif item.key not in first:
                first[item.key] = i
                fresh.append(i)
            elif content_digest(incoming[first[item.key]]) != content_digest(item):
                known[i] = conflict()
            else:
                twins[i] = first[item.key]
        return known, fresh, twins

    # ── time passes ──
    def sweep(self) -> None:
        """Expire what has expired and delete what nobody needs, a bounded amount at a time."""
        now = self.now()
        if len(self._expiring) > 2 * len(self.standing) + TRIM:  # renewals have left their former ends behind
            self._expiring = [(standing.expires, number) for number, standing in self.standing.items()]
            heapq.heapify(self._expiring)
        for _ in range(TRIM):
            if not self._expiring or self._expiring[0][0] > now:
                break
            expires, number = self._expiring[0]
            standing = self.standing.get(number)
            if standing is not None and standing.expires == expires:
                self._expire(number, now)
            self._pop_expiring()
        for number in list(islice(self._trimming, TRIM)):
            del self._trimming[number]
            self._undo.append(partial(self._trimming.setdefault, number))
            standing = self.standing.get(number)
            if standing is not None and not self.ledger.trim_acknowledged(number, standing.cursor, now):
                self._trimming[number] = None
        kept = now - int(self.settings.event_kept * 1000)
        self._trimmed_to = self.ledger.trim_events(self._trimmed_to, kept, now, TRIM_ROWS)
        old = now - int(self.settings.dead_letter_kept * 1000)
        self.ledger.trim_old(now, old, TRIM_ROWS)
        for number in self.ledger.ended_before(old, TRIM):
            self.ledger.drop(number)

    def continue_replay(self) -> None:
        """One more slice for the subscription whose turn it is."""
        number = self.replaying.popleft()
        row = self.ledger.subscription(number)
        if row is not None and not row.ended and row.replay_from < row.replay_to:
            self._undo.append(lambda: self.replaying.append(number))
            self._replay(row)

    def _replay(self, row: Subscription) -> None:
        """Match the next slice of valid events against one subscription, and leave the rest to `continue_replay`."""
        now, limit = self.now(), self.settings.replay_slice
        if row.replay_from >= row.replay_to:
            return
        events = self.ledger.valid_events(row.replay_from, row.replay_to, now, limit)
        if events:
            met = self.ledger.notified(row.number, events[0].seq, events[-1].seq)
            alone = Matcher(
                "scan", type=self.matcher.type, limits=self.matcher.limits, registry=self.settings.operators
            )
            alone.subscribe(row.number, row.filter)
            found = alone.match_many([msgspec.json.decode(event.body) for event in events])
            alone.close()
            fresh = [event.seq for event, ids in zip(events, found, strict=True) if ids and event.seq not in met]
            standing = self.standing[row.number]
            self._undo.append(lambda last=standing.last: setattr(standing, "last", last))  # type: ignore[misc]
            rows = [Notification(row.number, standing.last + k, seq) for k, seq in enumerate(fresh, 1)]
            standing.last += len(rows)
            self.ledger.add([], rows, [])
            self.touched.add(row.number)
        done = len(events) < limit
        self.ledger.put(replace(row, replay_from=row.replay_to if done else events[-1].seq))
        if not done:
            self.replaying.append(row.number)
            self._undo.append(self.replaying.pop)

    # ── one subscription's state ──
    def _stand(self, row: Subscription, standing: Standing) -> None:
        self.standing[row.number] = standing
        heapq.heappush(self._expiring, (row.expires, row.number))
        self._undo.append(lambda: self.standing.pop(row.number))
        self.touched.add(row.number)

    def _fall(self, row: Subscription) -> None:
        """Take a subscription out of matching."""
        standing = self.standing.pop(row.number)
        self._undo.append(lambda: self.standing.__setitem__(row.number, standing))
        self.matcher.unsubscribe(row.number)
        self._undo.append(lambda: self.matcher.subscribe(row.number, row.filter))
        self.touched.add(row.number)
        self.changes += 1

    def _expire(self, number: int, now: int) -> None:
        row = self.ledger.subscription(number)
        if row is not None:
            last = self.standing[number].last
            self._fall(row)
            self.dead += self.ledger.bury(number, row.cursor, last, "the subscription expired", now)
            self.ledger.put(replace(row, ended=now, cursor=last))

    def _pop_expiring(self) -> None:
        entry = heapq.heappop(self._expiring)
        self._undo.append(lambda: heapq.heappush(self._expiring, entry))

    def _advance(self, row: Subscription, cursor: int) -> int:
        standing = self.standing[row.number]
        if cursor <= row.cursor:
            return row.cursor
        self._undo.append(lambda: setattr(standing, "cursor", row.cursor))
        standing.cursor = cursor
        self.ledger.put(replace(row, cursor=cursor))
        self._trimming[row.number] = None
        self.touched.add(row.number)
        return cursor

    def _restore(self, lasts: dict[Any, int]) -> None:
        for number, last in lasts.items():
            if number in self.standing:
                self.standing[number].last = last

    def _shorten(self, numbers: dict[Any, int]) -> None:
        """Bury the oldest notifications of queues that have grown too long."""
        for number in numbers:
            standing = self.standing[number]
            if standing.last - standing.cursor > self.settings.queue:
                self.give_up(number, standing.last - self.settings.queue, "the queue was full")


def check_ticket(row: Subscription | None, ticket: str, now: int) -> Subscription:
    """The row, if the ticket opens it and it has not expired."""
    found = check_owner(row, ticket)
    if found.ended or found.expires <= now:
        raise TicketError
    return found


def check_owner(row: Subscription | None, ticket: str) -> Subscription:
    """The row, if the ticket opens it, expired or not."""
    if not fits(ticket, row.ticket if row is not None else None) or row is None:
        raise TicketError
    return row


def content_digest(item: Incoming) -> bytes:
    """What makes two events with one idempotency key the same, in whatever order they name their attributes."""
    body = msgspec.json.encode(msgspec.json.decode(item.body), order="deterministic")
    return hashlib.blake2b(body + b"/%d" % item.valid_for, digest_size=16).digest()


def conflict() -> ConflictError:
    """The same key, another event."""
    return ConflictError("this idempotency key was used for another event; use a new key")
