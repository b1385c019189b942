"""Dense ids: what their owners are called, and when they are free again.

A match that began before an id was released may return it. Releases are therefore stamped with a growing number, every match
enters with the number of its day, and an id is given out again only when no match is left that entered before its release.
"""

from collections import deque
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tamis.encoding.keys import Int32Array, Int64Array
from tamis.model.subscription import SubscriptionId
from tamis.model.values import INT64_MAX, INT64_MIN


class Names:
    """User ids by dense id, None where there is no owner.

    An array of objects, not a list: memory answers for the many ids of an event at once, not for one after the other. As
    long as all ids are integers they are kept as plain numbers too, which spares the way to the objects.
    """

    def __init__(self, size: int = 0) -> None:
        self.objects: NDArray[np.object_] = np.full(max(64, size), None, object)
        self.numbers: Int64Array | None = np.zeros(len(self.objects), np.int64)
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, dense: int) -> SubscriptionId | None:
        found: SubscriptionId | None = self.objects[dense]
        return found

    def __setitem__(self, dense: int, name: SubscriptionId | None) -> None:
        self.objects[dense] = name
        if self.numbers is not None and name is not None:
            if isinstance(name, int) and INT64_MIN <= name <= INT64_MAX:
                self.numbers[dense] = name
            else:
                self.numbers = None

    def append(self, name: SubscriptionId | None) -> None:
        """The name of the next dense id."""
        if self.size == len(self.objects):
            self.objects = np.concatenate([self.objects, np.full(self.size, None, object)])
            self.numbers = None if self.numbers is None else np.concatenate([self.numbers, self.numbers])
        self.size += 1
        self[self.size - 1] = name

    def of(self, dense: Int32Array) -> list[SubscriptionId | None]:
        """The names of some dense ids."""
        found: list[SubscriptionId | None] = self.objects.take(dense).tolist()
        return found

    def of_owned(self, dense: Int32Array) -> list[SubscriptionId]:
        """The names of some dense ids that all have owners."""
        found: list[SubscriptionId] = (self.objects if self.numbers is None else self.numbers).take(dense).tolist()
        return found

    def all(self) -> list[SubscriptionId | None]:
        """All names, in the order of the dense ids."""
        found: list[SubscriptionId | None] = self.objects[: self.size].tolist()
        return found


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
