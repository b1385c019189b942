"""What the core asks of whatever keeps its rows. All calls of one group stand or fall together."""

from collections.abc import Iterator
from typing import Protocol

from tamis.broker.rows import Attempt, Delivery, Event, Key, Notification, Subscription


class Ledger(Protocol):
    """Rows in, rows out; knows no rule of the broker."""

    def conditions(self) -> Iterator[tuple[int, str]]:
        """(number, filter) of every subscription that has not ended, by number."""

    def standings(self) -> Iterator[tuple[int, int, int, bool, bool]]:
        """(number, end, cursor, has it a webhook, is it still replayed to) of the same."""

    def subscription(self, number: int) -> Subscription | None:
        """One, if it is there."""

    def put(self, row: Subscription) -> None:
        """Write a new subscription or all of an old one."""

    def drop(self, number: int) -> None:
        """Forget a subscription, its queue and its dead letters."""

    def counters(self) -> tuple[int, int, int]:
        """The highest subscription number and event ever given, and the time of the latest event."""

    def tails(self) -> Iterator[tuple[int, int]]:
        """(subscription, highest notification) of every queue that has rows."""

    def add(self, events: list[Event], notifications: list[Notification], keys: list[Key]) -> None:
        """Events, their notifications and their idempotency keys."""

    def key(self, digest: bytes) -> Key | None:
        """What an idempotency key was used for."""

    def event(self, seq: int) -> Event | None:
        """One event, if it is still kept."""

    def valid_events(self, after: int, upto: int, now: int, limit: int) -> list[Event]:
        """Events after `after` up to `upto` that are still valid, oldest first."""

    def notified(self, number: int, first: int, last: int) -> set[int]:
        """Which events between two have a notification in this queue, acknowledged or not."""

    def bury(self, number: int, after: int, upto: int, reason: str, now: int) -> int:
        """Copy notifications after `after` up to `upto` to the dead letters; returns how many."""

    def trim_acknowledged(self, number: int, cursor: int, now: int) -> bool:
        """Delete acknowledged notifications of events no longer valid; whether none is left to delete later."""

    def trim_events(self, after: int, published_before: int, now: int, limit: int) -> int:
        """Look at `limit` events after `after`, delete those nobody needs; returns the last one looked at, 0 at the end."""

    def trim_old(self, keys_before: int, dead_before: int, limit: int) -> None:
        """Delete idempotency keys and dead letters that are past their time."""

    def ended_before(self, before: int, limit: int) -> list[int]:
        """Subscriptions that ended before a time."""

    def attempt(self, number: int) -> Attempt | None:
        """The last offer to a webhook that was not taken."""

    def put_attempt(self, row: Attempt) -> None:
        """Remember an offer that was not taken, in place of the one before."""

    def page(self, number: int, after: int, limit: int) -> list[Delivery]:
        """The next notifications of a queue, fewer than asked for when they are large."""

    def dead_letters(self, number: int, after: int, limit: int) -> list[Delivery]:
        """The next dead letters of a subscription."""
