"""`tamis warm`: compile the kernels of the default engine once, so that nothing later waits for them."""

import time

import typer

NARROW, WIDE = 64, 70_000
"""Constants of an attribute: few enough for 16-bit codes, and too many."""


def warm() -> None:
    """Compile the default engine's kernels and keep them on disk; takes a minute the first time, a second after.

    \b
    Example:
      tamis warm
    """
    import numpy as np

    from tamis.arrays.jit import CACHE_DIR
    from tamis.encoding.dictionary import Dictionary
    from tamis.encoding.events import EventBatch
    from tamis.encoding.keys import number_keys
    from tamis.encoding.subscriptions import SubscriptionTable
    from tamis.engines.tamis import TamisEngine, TamisOptions

    started = time.perf_counter()
    names = Dictionary()
    names.attribute("value")
    for step, count in enumerate((NARROW, WIDE), start=1):
        typer.echo(f"tamis: compiling kernels, step {step} of 2", err=True)
        keys = number_keys(np.arange(count))
        columns = (np.zeros(count, np.int32), np.zeros(count, np.uint8), keys, keys, np.zeros(0, np.int64))
        table = SubscriptionTable(np.arange(count, dtype=np.int32), np.arange(count + 1), *columns, names)
        engine = TamisEngine.build(table, TamisOptions(merge="never"))
        engine.remove(np.arange(3, dtype=np.int32))
        engine.insert(table.take(np.arange(2)))
        events = EventBatch(
            np.arange(65), np.zeros(64, np.int32), number_keys(np.arange(64)), np.full(64, -1, np.int32), (), False
        )
        engine.match(events)
        engine.merge()
        engine.match(events)
    typer.echo(f"tamis: kernels are ready in {CACHE_DIR} ({time.perf_counter() - started:.1f} s)", err=True)
