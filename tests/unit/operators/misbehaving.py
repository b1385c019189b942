"""Operators that go wrong, at the top of a module so that worker processes can import them."""

import os
import sys
import time
from typing import Any


def fine(event: Any, least: int) -> Any:
    return event["n"] >= least


def count(event: Any) -> Any:
    return event["n"]


def raises(event: Any) -> bool:
    raise ValueError("no good")


def sleeps(event: Any) -> bool:
    time.sleep(1000)
    return True


def spins(event: Any) -> bool:
    while True:
        pass


def allocates(event: Any) -> bool:
    return len(bytearray(4 << 30)) > 0


def exits(event: Any) -> bool:
    os._exit(3)


def leaves(event: Any) -> bool:
    sys.exit(4)


def crashes(event: Any) -> bool:
    os.abort()


def wrong_type(event: Any) -> Any:
    return {"not": "an answer"}


def floods(event: Any) -> Any:
    return range(10**9)


def chatty(event: Any) -> bool:
    print("x" * 100_000)  # noqa: T201 - must not disturb the protocol
    return True


def spawns(event: Any) -> bool:
    if os.fork() == 0:
        time.sleep(1000)
    time.sleep(1000)
    return True


def sometimes(event: Any) -> bool:
    if event["n"] == 3:
        raise RuntimeError("three")
    return True
