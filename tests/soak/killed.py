"""Kill a process while it saves a matcher, again and again; what is found afterwards must be the old one or the new one.

python -m tests.soak.killed --times 100
"""

import argparse
import os
import random
import signal
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tamis import Matcher

SIZES = (300, 400)
EVENTS = [{"a": i, "b": f"text {i % 50}"} for i in range(0, 400, 7)]
PATIENCE = 30.0


def made(size: int) -> Matcher:
    """A matcher that answers otherwise than one of another size."""
    matcher = Matcher(merge="inline")
    matcher.subscribe_many((i, f"a between {i - size % 7} and {i + 3} or b = 'text {i}'") for i in range(size))
    return matcher


def answers(matcher: Matcher) -> list[list[object]]:
    """What a matcher says of all events."""
    return [sorted(found, key=str) for found in matcher.match_many(EVENTS)]


def save_for_ever(matchers: list[Matcher], path: Path) -> None:
    """The child: one after the other, until killed."""
    while True:
        for matcher in matchers:
            matcher.save(path)


def kill_while_saving(path: Path, times: int, seed: int = 0) -> int:
    """Returns how many kills left something unfinished behind; raises when what is left is neither of the two."""
    chance, torn = random.Random(seed), 0
    matchers = [made(size) for size in SIZES]
    wanted = {size: answers(matcher) for size, matcher in zip(SIZES, matchers, strict=True)}
    matchers[0].save(path)
    started = time.monotonic()
    matchers[1].save(path)
    usual = time.monotonic() - started
    for _ in range(times):
        before = (path / "manifest.json").read_bytes()
        child = os.fork()
        if child == 0:
            save_for_ever(matchers, path)
        try:
            limit = time.monotonic() + PATIENCE
            while (path / "manifest.json").read_bytes() == before:
                assert time.monotonic() < limit, "the child saves nothing"
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 3 * usual))
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        torn += len(list(path.iterdir())) != 3
        found = Matcher.load(path)
        assert answers(found) == wanted[len(found)], "neither the old nor the new"
    return torn


def main() -> None:
    """See the top of the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--times", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    with TemporaryDirectory() as folder:
        torn = kill_while_saving(Path(folder) / "saved", given.times, given.seed)
    print(f"{given.times} kills, {torn} in the middle of a save: always the old matcher or the new one")  # noqa: T201


if __name__ == "__main__":
    main()
