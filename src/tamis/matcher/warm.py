"""The kernels of the default engine, compiled ahead of the first user who would wait for them."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tamis.arrays.jit import cache_of
from tamis.candidates.keyed.combine import by_cluster
from tamis.candidates.keyed.match import translate
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import from_pairs
from tamis.encoding.keys import number_keys
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.tamis import TamisEngine, TamisOptions
from tamis.matcher.matcher import Matcher

WIDE = 70_000
"""Constants of an attribute that are too many for 16-bit codes."""
FILTERS = (
    "kind = 1 and size > 5",
    "kind in (1, 2) or name = 'a'",
    "name starts with 'a'",
    "missing(size)",
    "not (kind = 3)",
)
EVENTS: tuple[dict[str, Any], ...] = ({"kind": 1, "size": 7, "name": "a"}, {"kind": [1, 2], "name": "b"}, {})
DONE = cache_of(Path(__file__)) / "warm"


def is_warm() -> bool:
    """Whether `warm` has been through with these kernels on this machine."""
    return DONE.exists()


def warm(tell: Callable[[str], object]) -> None:
    """Compile and keep on disk; takes a minute or two the first time, seconds after."""
    steps: tuple[tuple[str, Callable[[], None]], ...] = (
        ("matching, changing and saving", matcher),
        ("large clusters", lambda: lived(3000, 3)),
        ("wide codes", lambda: lived(WIDE, WIDE)),
    )
    for number, (what, step) in enumerate(steps, start=1):
        tell(f"compiling kernels, step {number} of {len(steps)}: {what}")
        step()
    DONE.parent.mkdir(parents=True, exist_ok=True)
    DONE.touch()


def matcher() -> None:
    """What a small matcher does in its life."""
    made = Matcher()
    for turn in range(2):
        made.subscribe_many((f"{turn} {i}", text) for i, text in enumerate(FILTERS))
        for event in (*EVENTS, *EVENTS):
            made.match(event)
        made.match_many(EVENTS)
        made.unsubscribe(f"{turn} 0")
    with TemporaryDirectory() as folder:
        made.save(Path(folder) / "saved")
        again = Matcher.load(Path(folder) / "saved")
        for event in EVENTS:
            again.match(event)


def lived(count: int, values: int) -> None:
    """Build, match, change and merge an engine over `count` conjunctions of an equality, with so many values, and a range.

    Few values make large clusters, whose conjunctions are tested in blocks.
    """
    names = Dictionary()
    attrs = np.tile(np.array([names.attribute("kind"), names.attribute("size")], np.int32), count)
    low = np.stack([np.arange(count) % values, np.zeros(count)], axis=1).ravel()
    high = np.where(attrs == 1, 10.0, low)
    columns = (attrs, np.zeros(2 * count, np.uint8), number_keys(low), number_keys(high), np.zeros(0, np.int64))
    table = SubscriptionTable(np.arange(count, dtype=np.int32), np.arange(0, 2 * count + 1, 2), *columns, names)
    keys, pairs = number_keys(np.tile([1.0, 5.0], 64)), np.tile(np.array([0, 1], np.int32), 64)
    events = from_pairs(64, np.repeat(np.arange(64), 2), pairs, keys, np.full(128, -1))
    engine = TamisEngine.build(table, TamisOptions(merge="never"))
    engine.match(events)
    base = engine.state.base
    by_cluster(
        base.handle, events.offsets, *translate(base.handle, events.attrs, events.keys)
    )  # for large indexes only
    engine.remove(np.arange(3, dtype=np.int32))
    engine.insert(table.take(np.arange(2)))
    engine.match(events.slice(0, 1))
    engine.merge()
    engine.match(events)
