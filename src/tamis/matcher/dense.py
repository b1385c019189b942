"""Dense ids that come free again, but not while a match may still speak of their former owner.

A match that began before an id was released may return it. Releases are therefore stamped with a growing number, every match
enters with the number of its day, and an id is given out again only when no match is left that entered before its release.
"""

from collections import deque
from itertools import count


class FreeIds:
    """Released ids, oldest first. `take` and `release` need the caller's lock; `leave` may be called without it."""

    def __init__(self) -> None:
        self.released: deque[tuple[int, int]] = deque()
        self.readers: dict[int, int] = {}
        self.day = 0
        self.tickets = count()

    def enter(self) -> int:
        """A match begins; returns the ticket to `leave` with."""
        ticket = next(self.tickets)
        self.readers[ticket] = self.day
        return ticket

    def leave(self, ticket: int) -> None:
        """The match is over."""
        self.readers.pop(ticket)

    def release(self, ids: list[int]) -> None:
        """These ids have lost their owners."""
        self.day += 1
        self.released.extend((self.day, identifier) for identifier in ids)

    def take(self) -> int | None:
        """An id that no running match can return for a former owner, if there is one."""
        if not self.released or self.released[0][0] > min(list(self.readers.values()), default=self.day):
            return None
        return self.released.popleft()[1]
