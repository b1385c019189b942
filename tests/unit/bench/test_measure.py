from typing import Any

import numpy as np
import pytest

from tamis.bench.measure import check, measure
from tamis.bench.prepare import Prepared, prepare
from tamis.encoding.matches import MatchSet
from tamis.engines.scan import ScanEngine
from tamis.errors import DataError, Disagreement

SMALL: dict[str, dict[str, Any]] = {
    "topss": {"subscriptions": 300, "events": 20},
    "fabret": {"subscriptions": 300, "events": 20, "domain": 3, "inequalities": 1},
    "rapid": {"subscriptions": 300, "events": 20, "alpha": 2.0},
    "pubsub": {"subscriptions": 300, "events": 20, "skew": 1.0},
    "reference": {"name": "strings-100k", "scale": 0.003},
}


@pytest.mark.parametrize("kind", SMALL)
def test_every_kind_of_workload_is_made_kept_and_read_again_alike(kind, tmp_path):
    parameters = {"kind": kind, "case": "any", **SMALL[kind]}
    made, kept, opened = prepare(parameters, 3), prepare(parameters, 3, tmp_path), prepare(parameters, 3, tmp_path)
    assert len(made.table) == 300
    assert len(made.expected.ids) > 0
    for other in (kept, opened):
        for name in ("owners", "offsets", "attrs", "lo", "hi"):
            assert np.array_equal(getattr(made.table, name), getattr(other.table, name))
        assert np.array_equal(made.events.keys, other.events.keys)
        assert made.expected.equals(other.expected)
    assert ScanEngine(opened.table).match(opened.events.slice(0, len(opened.expected))).equals(made.expected)


def test_measured_engines_are_checked_before_their_times_are_told():
    prepared = prepare({"kind": "topss", **SMALL["topss"]})
    found = measure("counting", {}, prepared, seconds=0.01)
    assert len(found["samples"]["batch_us"]) == len(found["samples"]["single_us"]) == 5
    assert {"first_stage_us", "inserts_per_s", "removals_per_s", "build_s"} <= found["samples"].keys()
    assert found["values"]["matches_per_event"] > 0
    assert found["values"]["stage_bytes"] < found["values"]["bytes_held"]
    wrong = Prepared(
        prepared.table,
        prepared.events,
        prepared.sample,
        MatchSet(prepared.expected.offsets * 0, prepared.expected.ids[:0]),
    )
    with pytest.raises(Disagreement, match="engine 'counting' disagrees with scan"):
        measure("counting", {}, wrong, seconds=0.01)
    check("scan", ScanEngine(prepared.table), prepared)


def test_engines_that_are_built_whole_are_measured_without_changes():
    found = measure("siena", {}, prepare({"kind": "topss", **SMALL["topss"]}), seconds=0.01)
    assert "inserts_per_s" not in found["samples"]


def test_unknown_workloads_are_named():
    with pytest.raises(DataError, match=r"no kind of workload 'fabre'; did you mean 'fabret'\?"):
        prepare({"kind": "fabre"})
    with pytest.raises(DataError, match=r"no reference workload 'uniform-10k'; did you mean 'uniform-1"):
        prepare({"kind": "reference", "name": "uniform-10k"})
