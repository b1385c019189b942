"""A circuit breaker: after repeated failures an operator is left alone for a while, then tried once."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Breaker:
    """Opens after `threshold` failures in a row; lets one call through every `cooldown` seconds until one succeeds."""

    threshold: int = 5
    cooldown: float = 30.0
    clock: Callable[[], float] = field(default=time.monotonic)
    failures: int = 0
    opened: float | None = None

    def allows(self) -> bool:
        """Whether a call may be made now; asking after the cooldown takes the one trial."""
        if self.opened is None:
            return True
        if self.clock() - self.opened < self.cooldown:
            return False
        self.opened = self.clock()
        return True

    def succeeded(self) -> None:
        """A call went well."""
        self.failures, self.opened = 0, None

    def failed(self) -> None:
        """A call failed."""
        self.failures += 1
        if self.failures >= self.threshold:
            self.opened = self.clock()

    @property
    def state(self) -> str:
        """`closed` (calls are made) or `open` (they are not)."""
        return "closed" if self.opened is None else "open"
