"""The kernels of the default engine, compiled ahead of the first user who would wait for them."""

from collections.abc import Callable

import numpy as np

from tamis.arrays.jit import CACHE_DIR
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import number_keys
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.tamis import TamisEngine, TamisOptions

NARROW, WIDE = 64, 70_000
"""Constants of an attribute: few enough for 16-bit codes, and too many."""
DONE = CACHE_DIR / "warm"


def is_warm() -> bool:
    """Whether `warm` has been through with these kernels on this machine."""
    return DONE.exists()


def warm(tell: Callable[[str], object]) -> None:
    """Compile and keep on disk; takes a minute the first time, a second after."""
    names = Dictionary()
    names.attribute("value")
    for step, count in enumerate((NARROW, WIDE), start=1):
        tell(f"compiling kernels, step {step} of 2")
        keys = number_keys(np.arange(count))
        columns = (np.zeros(count, np.int32), np.zeros(count, np.uint8), keys, keys, np.zeros(0, np.int64))
        table = SubscriptionTable(np.arange(count, dtype=np.int32), np.arange(count + 1), *columns, names)
        engine = TamisEngine.build(table, TamisOptions(merge="never"))
        engine.remove(np.arange(3, dtype=np.int32))
        engine.insert(table.take(np.arange(2)))
        for size in (1, 64):
            offsets, attrs, raw = np.arange(size + 1), np.zeros(size, np.int32), np.full(size, -1, np.int32)
            engine.match(EventBatch(offsets, attrs, number_keys(np.arange(size)), raw, (), False))
        engine.merge()
        engine.match(EventBatch(offsets, attrs, number_keys(np.arange(size)), raw, (), False))
    DONE.parent.mkdir(parents=True, exist_ok=True)
    DONE.touch()
