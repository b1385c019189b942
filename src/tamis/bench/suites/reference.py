"""The `reference` suite: engines on the reference workloads, every answer checked against `scan` first."""

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import number_keys
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.registry import build_engine
from tamis.errors import EngineError
from tamis.workloads.reference import QUICK, WORKLOADS, Columns, generate

CHECKED, ROUNDS = 10, 5


def run(engines: list[str], profile: str) -> Iterator[dict[str, Any]]:
    """One row per workload and engine: seconds to build, bytes held, microseconds per event in a batch and alone."""
    names = [name for name in WORKLOADS if profile == "full" or name in QUICK]
    for name in names:
        table, events = encode(generate(name))
        expected = build_engine("scan", table).match(events.slice(0, CHECKED))
        for engine in engines:
            yield {"workload": name, "engine": engine, **measure(engine, table, events, expected)}


def measure(name: str, table: SubscriptionTable, events: EventBatch, expected: Any) -> dict[str, Any]:
    """Build one engine, check it, and time it: medians over rounds."""
    started = time.perf_counter()
    engine = build_engine(name, table)
    build = time.perf_counter() - started
    if not engine.match(events.slice(0, CHECKED)).equals(expected):
        raise EngineError(f"engine {name!r} disagrees with scan; nothing it measures would mean anything")
    alone = [events.slice(i, i + 1) for i in range(min(200, len(events)))]
    whole, single, matches = [], [], 0
    for _ in range(ROUNDS):
        started = time.perf_counter()
        matches = len(engine.match(events).ids)
        whole.append((time.perf_counter() - started) / len(events))
        started = time.perf_counter()
        for event in alone:
            engine.match(event)
        single.append((time.perf_counter() - started) / len(alone))
    stats = engine.stats()
    return {
        "subscriptions": len(table),
        "events": len(events),
        "matches_per_event": matches / len(events),
        "build_seconds": build,
        "batch_us": statistics.median(whole) * 1e6,
        "batch_us_rounds": [round(t * 1e6, 2) for t in whole],
        "single_us": statistics.median(single) * 1e6,
        "bytes_per_subscription": stats.bytes_held / len(table),
        "candidates_per_event": stats.candidates / max(1, stats.events),
    }


def encode(columns: Columns) -> tuple[SubscriptionTable, EventBatch]:
    """A workload as a table and a batch over one dictionary."""
    names = Dictionary()
    for i in range(columns.parameters.attributes):
        names.attribute(f"a{i}")
    if columns.parameters.strings:
        keys = np.array([names.intern(f"value {i}") for i in range(columns.parameters.values)], np.int64)
    else:
        keys = number_keys(np.arange(columns.parameters.values))
    count = len(columns.offsets) - 1
    ops = np.zeros(len(columns.attrs), np.uint8)
    table = SubscriptionTable(
        np.arange(count, dtype=np.int32), columns.offsets.astype(np.int64), columns.attrs.astype(np.int32), ops,
        keys[columns.low], keys[columns.high], np.zeros(0, np.int64), names,
    )  # fmt: skip
    owner = np.repeat(np.arange(len(columns.event_offsets) - 1), np.diff(columns.event_offsets))
    attrs, raw = columns.event_attrs.astype(np.int32), np.full(len(owner), -1, np.int32)
    return table, from_pairs(len(columns.event_offsets) - 1, owner, attrs, keys[columns.event_values], raw)
