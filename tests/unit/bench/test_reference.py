"""The suite measures what it says and refuses an engine that is wrong."""

import json

import pytest

from tamis.bench.results import keep
from tamis.bench.suites.reference import CHECKED, encode, measure
from tamis.encoding.matches import MatchSet
from tamis.engines.scan import ScanEngine
from tamis.errors import EngineError
from tamis.workloads.reference import generate


def test_a_row_and_its_file(tmp_path):
    for name in ("uniform-100k", "strings-100k"):
        table, events = encode(generate(name, 0.002))
        expected = ScanEngine(table).match(events.slice(0, CHECKED))
        row = measure("scan", table, events, expected)
        assert row["subscriptions"] == 200
        assert row["batch_us"] > 0
        with pytest.raises(EngineError, match="disagrees"):
            measure("scan", table, events, MatchSet(expected.offsets * 0, expected.ids[:0]))
        kept = json.loads(keep(tmp_path, "reference", "quick", [row]).read_text())
        assert kept["rows"] == [row]
        assert kept["machine"]["cores"] >= 1
