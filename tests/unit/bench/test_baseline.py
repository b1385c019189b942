"""The baseline finds what scan finds, and says what it cannot do."""

import numpy as np
import pytest
from tests.unit.engines.test_tamis import dictionary, random_events, random_table

from tamis.bench.baseline import Baseline
from tamis.bench.measure import measure
from tamis.bench.prepare import prepare
from tamis.encoding.events import from_pairs
from tamis.encoding.keys import number_keys
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.scan import ScanEngine
from tamis.errors import EngineError


def test_it_finds_what_scan_finds():
    rng, count, names = np.random.default_rng(2), 2000, dictionary(12)
    sizes = rng.integers(1, 4, count)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    attrs = np.concatenate([rng.choice(12, size, replace=False) for size in sizes]).astype(np.int32)
    low = rng.integers(0, 20, len(attrs))
    high = low + np.where(rng.random(len(attrs)) < 0.5, 0, rng.integers(0, 9, len(attrs)))
    columns = (attrs, np.zeros(len(attrs), np.uint8), number_keys(low), number_keys(high), np.zeros(0, np.int64))
    table = SubscriptionTable(np.arange(count, dtype=np.int32)[::-1].copy(), offsets, *columns, names)
    picked = np.concatenate([np.sort(rng.choice(12, 6, replace=False)) for _ in range(50)]).astype(np.int32)
    keys = number_keys(rng.integers(0, 25, len(picked)))
    events = from_pairs(50, np.repeat(np.arange(50), 6), picked, keys, np.full(len(picked), -1))
    floor = Baseline(table, events)
    found = floor.matches(50)
    assert len(found.ids) > 100
    assert found.equals(ScanEngine(table).match(events))
    assert floor.seconds() > 0


def test_it_refuses_what_is_not_intervals():
    rng, names = np.random.default_rng(2), dictionary()
    with pytest.raises(EngineError, match="intervals"):
        Baseline(random_table(rng, 100, names), random_events(rng, 10))


def test_a_run_with_the_baseline_tells_ratios():
    prepared = prepare({"kind": "reference", "name": "equality-100k", "scale": 0.003})
    samples = measure("scan", {}, prepared, seconds=0.01, baseline=True)["samples"]
    assert len(samples["baseline_us"]) == len(samples["baseline_ratio"]) == 5
    assert min(samples["baseline_ratio"]) > 0


def test_a_run_whose_workload_is_not_for_the_baseline_does_without():
    prepared = prepare({"kind": "rapid", "alpha": 2.0, "subscriptions": 200, "events": 20})
    assert not Baseline.takes(prepared.table, prepared.events)
    samples = measure("scan", {}, prepared, seconds=0.01, baseline=True)["samples"]
    assert samples["batch_us"]
    assert "baseline_us" not in samples
