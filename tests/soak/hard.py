"""Input that is legal and unkind, at full size. Run as a module for seconds and megabytes of each:

    python -m tests.soak.hard

Every answer is checked; `tests/unit/matcher/test_hard.py` does the same with less of everything.
"""

import resource
import time
from collections.abc import Callable

from tamis import Matcher
from tamis.model.limits import Limits

MILLION = 1_000_000


def identical(count: int) -> None:
    """As many subscribers as wanted ask for the same thing; some of them leave again."""
    matcher = Matcher()
    matcher.subscribe_many((i, "kind = 1 and size between 2 and 5") for i in range(count))
    assert len(matcher.match({"kind": 1, "size": 3})) == count
    assert matcher.match({"kind": 1, "size": 6}) == matcher.match({"kind": 2}) == []
    for i in range(0, 1000, 2):
        matcher.unsubscribe(i)
    assert sorted(matcher.match({"kind": 1, "size": 5})) == [i for i in range(count) if i >= 1000 or i % 2]


def longest(count: int) -> None:
    """Conjunctions and disjunctions with as many predicates as are allowed, `count` of each."""
    most = Limits().predicates
    matcher = Matcher()
    for i in range(count):
        matcher.subscribe(f"all {i}", " and ".join(f"a{n} >= {i}" for n in range(most)))
        matcher.subscribe(f"any {i}", " or ".join(f"b{n} = {i}" for n in range(most)))
        matcher.subscribe(f"one {i}", f"c in ({', '.join(str(i + n) for n in range(most))})")
    whole = {f"a{n}": count - 1 for n in range(most)}
    assert len(matcher.match(whole)) == count
    assert matcher.match({**whole, f"a{most - 1}": -1}) == []
    assert matcher.match({f"b{most - 1}": 3}) == ["any 3"]
    assert sorted(matcher.match({"c": 2})) == ["one 0", "one 1", "one 2"]


def constants(count: int) -> None:
    """One attribute is compared with as many constants as wanted, numbers and strings."""
    matcher = Matcher()
    matcher.subscribe_many((i, f"a = {i * 3}" if i % 2 else f"a = 'text {i}'") for i in range(count))
    for i in (1, count // 2 | 1, count - 1 - count % 2):
        assert matcher.match({"a": i * 3}) == [i]
        assert matcher.match({"a": f"text {i - 1}"}) == [i - 1]
    assert matcher.match({"a": 1}) == matcher.match({"a": "text"}) == []
    assert sorted(matcher.match({"a": [3, "text 0", 4, 9]})) == [0, 1, 3]


def widest(count: int) -> None:
    """Events with as many attributes as are allowed, all of them asked about."""
    most = Limits().event_attributes
    matcher = Matcher()
    matcher.subscribe_many((i, f"a{i % most} = {i % 7} and a{(i * 31 + 1) % most} < {i % 5 + 1}") for i in range(count))
    for value in range(7):
        event = {f"a{n}": value for n in range(most)}
        wanted = [i for i in range(count) if i % 7 == value < i % 5 + 1]
        assert sorted(matcher.match(event)) == wanted == sorted(matcher.match_many([event])[0])
        listed = {name: [value, -1] for name in event}
        assert sorted(matcher.match(listed)) == [i for i in range(count) if i % 7 == value]


TASKS: dict[str, tuple[Callable[[int], None], int]] = {
    "identical subscriptions": (identical, MILLION),
    "filters of 64 predicates": (longest, 200),
    "constants of one attribute": (constants, MILLION),
    "subscriptions on events of 256 attributes": (widest, 100_000),
}


def main() -> None:
    """One line per task."""
    for name, (task, count) in TASKS.items():
        started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        task(count)
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = time.process_time() - started
        print(f"{count:,} {name}: {seconds:.1f} s, peak {held // 1024} MB, before {before // 1024}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
