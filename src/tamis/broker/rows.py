"""What is stored, row by row. Times are integer milliseconds since the epoch.

Every row carries a *seal*, a checksum of its fields: SQLite notices a broken structure, but a flipped bit inside a text or a
number would silently change what a subscription asks for.
"""

import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

pack = msgspec.msgpack.Encoder().encode


def seal(*fields: Any) -> int:
    """A checksum of the fields of a row."""
    return zlib.crc32(pack(fields))


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing condition. `cursor` is the last acknowledged notification; `ended` is when it expired, 0 while it stands;
    valid events after `replay_from` up to `replay_to` still wait to be replayed."""

    number: int
    ticket: bytes
    filter: str
    owner: str | None
    created: int
    expires: int
    ended: int = 0
    cursor: int = 0
    replay_from: int = 0
    replay_to: int = 0
    webhook: str | None = None
    secret: str | None = None


class Event(NamedTuple):
    """A published event; `body` is compact JSON."""

    seq: int
    published: int
    valid_until: int
    body: bytes


class Notification(NamedTuple):
    """Event `event` is the `n`-th notification of a subscription."""

    subscription: int
    n: int
    event: int


class Key(NamedTuple):
    """An idempotency key's digest, the digest of the event it was used for, and what came of it."""

    digest: bytes
    content: bytes
    event: int
    matched: int
    expires: int


class Attempt(NamedTuple):
    """Notification `n` was offered to a webhook `made` times in vain; `due` is when to offer it again."""

    subscription: int
    n: int
    made: int
    due: int


class Delivery(NamedTuple):
    """A notification with its event, ready to be sent; `reason` and `buried` are set for dead letters."""

    n: int
    event: Event
    reason: str = ""
    buried: int = 0
