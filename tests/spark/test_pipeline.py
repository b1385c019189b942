"""The pipeline as a whole: stages, resumption, report, and what a bad specification says."""

from datetime import UTC, datetime

import pytest

import tamis.spark as ts
from tamis.cli.app import main
from tamis.errors import DataError
from tamis.spark.pipeline import Pipeline
from tamis.spark.spec import EXAMPLE, read_spec

SPEC = """
[pipeline]
output = "run"
master = "local[2]"
partitions = 3
[workload]
subscriptions = 300
events = 200
attributes = 20
values = 40
templates = 5
per_event = 8
predicates = 3
around = 0.5
[match]
strategy = "STRATEGY"
"""


def write(tmp_path, text):
    path = tmp_path / "spec.toml"
    path.write_text(text)
    return path


def run(path):
    told = []
    report = Pipeline(read_spec(path), lambda stage, state, facts: told.append((stage, state))).run()
    return report, [f"{stage} {state}" for stage, state in told if state != "running"]


def test_stages_are_run_once_and_resumed(spark, tmp_path, monkeypatch):
    path = write(tmp_path, SPEC.replace("STRATEGY", "broadcast"))
    with monkeypatch.context() as patch:
        patch.setattr(Pipeline, "report", lambda self, spark: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(path)
    report, told = run(path)
    assert told == ["generate skipped", "profile skipped", "compile skipped", "match skipped", "report done"]
    page = report.read_text()
    assert "<svg" in page
    assert "Events per second" in page
    matches = ts.match(
        spark.read.parquet(str(tmp_path / "run" / "events")),
        tmp_path / "run" / "index",
        columns=ts.EventColumns(spread=("attributes",)),
    )
    assert f"<td class=n>{matches.count():,}<" in page
    assert run(path)[1] == [f"{stage} skipped" for stage in ("generate", "profile", "compile", "match", "report")]


OWN = """
[pipeline]
output = "run"
master = "local[2]"
partitions = 2
[subscriptions]
path = "subscriptions"
[events]
path = "events"
time = "at"
[compile]
operators = ["tests.spark.loudness"]
"""


def test_own_data_with_operators_and_validity(spark, tmp_path):
    day = [datetime(2024, 5, n, tzinfo=UTC) for n in (1, 2, 3)]
    rows: list[tuple[object, ...]] = [
        ("loud", "tests_loudness(?n) and ?n > 1", None, None),
        ("late", "price > 1", day[1], None),
    ]
    rows += [("early", "price > 1", None, day[1]), ("bad", "price >", None, None)]
    schema = "id string, filter string, valid_from timestamp, valid_until timestamp"
    spark.createDataFrame(rows, schema).write.parquet(str(tmp_path / "subscriptions"))
    events = [
        (1, day[0], 5.0, "hey!!"),
        (2, day[2], 5.0, "hey"),
        (3, day[0], float("nan"), "hey!!"),
        (4, day[0], 0.0, ""),
    ]
    schema = "event_id long, at timestamp, price double, text string"
    spark.createDataFrame(events, schema).write.parquet(str(tmp_path / "events"))
    report, told = run(write(tmp_path, OWN))
    assert told == [f"{stage} done" for stage in ("generate", "profile", "compile", "match", "report")]
    found = spark.read.parquet(str(tmp_path / "run" / "found" / "matches")).collect()
    assert sorted(map(tuple, found)) == [(1, "early"), (1, "loud"), (2, "late")]
    malformed = spark.read.parquet(str(tmp_path / "run" / "found" / "malformed")).collect()
    assert [row.event_id for row in malformed] == [3]
    assert "<th>Quarantined subscriptions<td class=n>1<" in report.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[pipelin]", "no key 'pipelin'; did you mean 'pipeline'"),
        ("[pipeline]\npartitions = 'x'\n[workload]", r"\[pipeline\]: partitions must be of type int"),
        ("[workload]\nevent = 3", "did you mean 'events'"),
        ("[workload]\nper_event = 500", "attributes ≥ per_event"),
        ("[subscriptions]\npath = 'x'", r"\[events\] is missing"),
        ("[subscriptions]\npath = 'nowhere'\n[events]\npath = 'nowhere'", "there is no"),
        ("[[[", "spec.toml"),
        ("match = 3", "must be a table"),
    ],
)
def test_bad_specifications(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_spec(write(tmp_path, text))


def test_init_writes_a_specification_that_can_be_read(tmp_path, capsys):
    path = tmp_path / "market.toml"
    with pytest.raises(SystemExit) as done:
        main(["pipeline", "init", str(path)])
    assert done.value.code in (0, None)
    assert read_spec(path).counts == (20_000, 20_000)
    assert "{stem}" in EXAMPLE
    with pytest.raises(SystemExit) as again:
        main(["pipeline", "init", str(path)])
    assert again.value.code == 1
    assert "exists already" in capsys.readouterr().err
