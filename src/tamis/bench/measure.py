"""What is measured of one engine on one workload, in this process.

The engine is first built small, so that no compilation is counted. Then: the time to build it and the memory this takes; its
matches, held to those of `scan`; the time per event in a batch and alone; how the time of an event depends on the number
of its matches; changes. Every time is repeated; medians and spread are taken later, from the samples kept.
"""

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tamis.arrays.jit import events as kernel_events
from tamis.bench.baseline import Baseline
from tamis.bench.prepare import Prepared
from tamis.encoding.events import EventBatch
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Engine, Updatable
from tamis.engines.registry import build_engine, engine_class
from tamis.errors import Disagreement

ROUNDS = 5
ALONE = 200
CHANGED = 100


def measure(
    engine: str,
    options: dict[str, Any],
    workload: Prepared,
    *,
    seconds: float = 1.5,
    sample: int = 0,
    baseline: bool = False,
    **_: Any,
) -> dict[str, Any]:
    """`samples` and `values` of one engine. About `seconds` go into each of the repeated measurements; `sample` events are
    shown to an engine that has an option of that name; with `baseline` it takes turns with the simplest fast matcher, where
    that one can do the work."""
    table, events = workload.table, workload.events
    given = options | ({"sample": workload.sample.slice(0, min(sample, len(workload.sample)))} if sample else {})
    warm_up(engine, given, workload)
    built, build, growth = loaded(engine, given, table)
    check(engine, built, workload)
    samples = {"build_s": [build], **batches(built, events, seconds)}
    samples["single_us"], pairs = alone(built, events, seconds)
    if baseline and Baseline.takes(table, events):
        samples |= beside_baseline(built, workload)
    stats = built.stats()
    values = first_stage_bytes(built)
    samples |= first_stage(built, events, seconds)
    if engine_class(engine).capabilities.incremental and isinstance(built, Updatable):
        samples |= changes(built, workload, seconds)
        check(engine, built, workload)
    values |= {
        "subscriptions": len(table),
        "matches_per_event": stats.matches / max(1, stats.events),
        "candidates_per_event": stats.candidates / max(1, stats.events),
        "bytes_held": stats.bytes_held,
        "rss_growth_bytes": growth,
        "rss_bytes": resident(),
    }
    return {"samples": samples, "values": values, "by_output": pairs, "checked_events": len(workload.expected)}


def loaded(engine: str, options: dict[str, Any], table: SubscriptionTable) -> tuple[Engine, float, int]:
    """The engine, built in full, the seconds this took and the memory; once more where kernels had to be compiled for it,
    which an engine may need for large sizes only."""
    while True:
        gc.collect()
        before = resident()
        with kernel_events.install_recorder("numba:compile") as compiled:
            started = time.perf_counter()
            built = build_engine(engine, table, options)
            spent = time.perf_counter() - started
        if not compiled.buffer:
            return built, spent, resident() - before
        del built


def warm_up(engine: str, options: dict[str, Any], workload: Prepared) -> None:
    """Load or compile every kernel that will be timed."""
    small = build_engine(engine, workload.table.take(np.arange(min(50, len(workload.table)))), options)
    few = workload.events.slice(0, min(3, len(workload.events)))
    small.match(few)
    small.match(few.slice(0, 1))
    if hasattr(small, "first_stage"):
        small.first_stage(few)
    if isinstance(small, Updatable):
        small.remove(workload.table.owners[:1])
        small.insert(workload.table.take(np.arange(1)))


def check(name: str, engine: Engine, workload: Prepared) -> None:
    """Nothing a wrong engine measures would mean anything."""
    if not engine.match(workload.events.slice(0, len(workload.expected))).equals(workload.expected):
        raise Disagreement(f"engine {name!r} disagrees with scan; its times are not reported")


def batches(engine: Engine, events: EventBatch, seconds: float) -> dict[str, list[float]]:
    """Microseconds per event of one call for many; as many events as the time allows, the same ones each round."""
    once = timed(lambda: engine.match(events.slice(0, 1)))
    count = max(1, min(len(events), int(seconds / ROUNDS / max(once, 1e-7))))
    many = events.slice(0, count)
    if count > 1 and once * count > seconds / ROUNDS / 10:  # a batch may cost far less than its events alone
        spent = timed(lambda: engine.match(many))
        count = max(1, min(len(events), int(count * seconds / ROUNDS / max(spent, 1e-7))))
        many = events.slice(0, count)
    times = [timed(lambda: engine.match(many)) / count * 1e6 for _ in range(ROUNDS)]
    return {"batch_us": times, "batch_events": [count]}


def alone(engine: Engine, events: EventBatch, seconds: float) -> tuple[list[float], list[tuple[int, float]]]:
    """Microseconds per event when each is a call of its own: means by round, and per event (matches, median)."""
    ones = [events.slice(i, i + 1) for i in range(min(ALONE, len(events)))]
    first = [timed(lambda one=one: engine.match(one)) for one in ones[:3]]  # type: ignore[misc]
    count = max(1, min(len(ones), int(seconds / ROUNDS / max(float(np.mean(first)), 1e-7))))
    rounds = np.empty((ROUNDS, count))
    found = [0] * count
    for r in range(ROUNDS):
        for i, one in enumerate(ones[:count]):
            started = time.perf_counter()
            answer = engine.match(one)
            rounds[r, i] = time.perf_counter() - started
            found[i] = len(answer.ids)
    medians = np.median(rounds, axis=0) * 1e6
    pairs = [(n, round(float(t), 3)) for n, t in zip(found, medians, strict=True)]
    return (rounds.mean(axis=1) * 1e6).tolist(), pairs


def beside_baseline(engine: Engine, workload: Prepared) -> dict[str, list[float]]:
    """Microseconds per event of the baseline, and how many times as long the engine's batches take, each right after it."""
    floor, events = Baseline(workload.table, workload.events), workload.events
    if not floor.matches(len(workload.expected)).equals(workload.expected):
        raise Disagreement("the baseline disagrees with scan; nothing can be held against it")
    floor.seconds()
    below, ratios = [], []
    for _ in range(ROUNDS):
        below.append(floor.seconds() * 1e6)
        ratios.append(timed(lambda: engine.match(events)) / len(events) * 1e6 / below[-1])
    return {"baseline_us": below, "baseline_ratio": ratios}


def first_stage(engine: Engine, events: EventBatch, seconds: float) -> dict[str, list[float]]:
    """Microseconds per event of finding the satisfied predicates alone, for engines that have such a stage."""
    stage: Callable[[EventBatch], int] | None = getattr(engine, "first_stage", None)
    if stage is None:
        return {}
    count = max(1, min(len(events), int(seconds / ROUNDS / max(timed(lambda: stage(events.slice(0, 1))), 1e-7))))
    some = events.slice(0, count)
    return {"first_stage_us": [timed(lambda: stage(some)) / count * 1e6 for _ in range(ROUNDS)]}


def first_stage_bytes(engine: Engine) -> dict[str, float]:
    """What the predicate indexes of a two-stage engine hold."""
    stage = getattr(engine, "stage", None)
    return {"stage_bytes": stage.nbytes} if stage is not None else {}


def changes(engine: Updatable, workload: Prepared, seconds: float) -> dict[str, list[float]]:
    """Subscriptions removed and inserted per second, a hundred a call; what was removed comes back."""
    rows = np.arange(min(CHANGED, len(workload.table)))
    some = workload.table.take(rows)
    removed, inserted, until = [], [], time.perf_counter() + 2 * seconds
    for _ in range(ROUNDS):
        removed.append(len(rows) / timed(lambda: engine.remove(some.owners)))
        inserted.append(len(rows) / timed(lambda: engine.insert(some)))
        if time.perf_counter() > until:
            break
    return {"removals_per_s": removed, "inserts_per_s": inserted}


def timed(call: Callable[[], Any]) -> float:
    """Seconds of a call."""
    started = time.perf_counter()
    call()
    return max(time.perf_counter() - started, 1e-9)


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0
