"""The pipeline as the bench measures it, in a process and a session of its own."""

from tamis.bench.results import OK, Run
from tamis.bench.runner import run_alone


def test_every_way_through_the_pipeline_is_measured_and_checked():
    ways = ["broadcast", "sql-grouping", "stream", "udf"]
    workload = {"strategies": ways, "subscriptions": 2000, "events": 40, "crossed": 20, "partitions": 2}
    found = run_alone(Run("spark", "quick", "sizes", "spark", "spark", "spark", {}, workload, {}, 1))
    assert (found.status, found.reason) == (OK, "")
    assert [row["series"] for row in found.rows] == ways
    assert [len(row["samples"]["match_s"]) for row in found.rows] == [2, 1, 1, 1]
    assert [row["values"]["matched_events"] for row in found.rows] == [40, 40, 40, 20]
    assert all(row["samples"]["pairs_per_s"][0] > 0 for row in found.rows)
    assert len({row["values"]["checked_matches"] for row in found.rows} - {0}) == 1
