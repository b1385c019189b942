"""What goes wrong is named, and the rest goes on."""

import json

import pytest

import tamis.spark as ts
from tamis.errors import DataError, StorageError


def frame(spark, rows, schema="id string, filter string"):
    return spark.createDataFrame(rows, schema)


def events(spark, rows, schema="event_id long, price double, kind string"):
    return spark.createDataFrame(rows, schema)


def test_bad_filters_and_bad_events_are_set_aside(spark, tmp_path):
    rows = [("a", "price < 10"), ("b", "price <"), ("c", None), ("d", "x = 1"), ("d", "x = 2"), (None, "x = 1")]
    rows += [("f", "noSuchOperator(1)")]
    compiled = ts.compile_index(frame(spark, rows), tmp_path)
    errors = {(row.id, row.filter): row.error for row in compiled.quarantine(spark).collect()}
    assert compiled.manifest.subscriptions == 1
    assert compiled.manifest.quarantined == 6
    assert "line 1, column" in errors["b", "price <"]
    assert errors["c", None] == "the filter is null"
    assert errors["d", "x = 1"] == "the id 'd' is given 2 times"
    assert errors[None, "x = 1"] == "the id is null"
    assert "no operator 'noSuchOperator'" in errors["f", "noSuchOperator(1)"]
    given = events(spark, [(1, 5.0, "x"), (2, float("nan"), "y"), (3, 50.0, None)])
    kept = {
        (row.event_id, row.subscription_id): row.error for row in ts.match(given, tmp_path, on_error="keep").collect()
    }
    assert kept.keys() == {(1, "a"), (2, None)}
    assert "attribute 'price': nan" in kept[2, None]
    assert [tuple(row) for row in ts.match(given, tmp_path, on_error="drop").collect()] == [(1, "a")]
    with pytest.raises(Exception, match="event 2: attribute 'price'"):
        ts.match(given, tmp_path).collect()


def test_predicate_rows_with_faults(spark, tmp_path):
    schema = "id long, conjunction int, attribute string, operator string, integer long, string string"
    rows: list[tuple[object, ...]] = [
        (1, 0, "price", "<", 10, None),
        (1, 0, "kind", "=", None, "x"),
        (2, 0, "price", "?", 3, None),
    ]
    rows += [(2, 0, "kind", "=", None, "x"), (3, 0, "kind", "matches", None, "("), (None, 0, "kind", "=", None, "x")]
    compiled = ts.compile_index(frame(spark, rows, schema), tmp_path)
    errors = {row.id: row.error for row in compiled.quarantine(spark).collect()}
    assert errors.keys() == {2, 3, None}
    found = ts.match(events(spark, [(7, 5.0, "x"), (8, 5.0, "y")]), tmp_path).collect()
    assert [tuple(row) for row in found] == [(7, 1)]


def test_missing_columns(spark, tmp_path):
    with pytest.raises(DataError, match="need the columns"):
        ts.compile_index(frame(spark, [("a", "x")], "id string, filtre string"), tmp_path)
    with pytest.raises(DataError, match="id has type double"):
        ts.compile_index(frame(spark, [(1.0, "x")], "id double, filter string"), tmp_path)
    ts.compile_index(frame(spark, [("a", "price < 10")]), tmp_path)
    for columns, message in [
        (ts.EventColumns(id="eventid"), "no column 'eventid'; did you mean 'event_id'"),
        (ts.EventColumns(time="price"), "must be a timestamp"),
        (ts.EventColumns(json=("price",)), "must hold strings"),
    ]:
        with pytest.raises(DataError, match=message):
            ts.match(events(spark, [(1, 1.0, "x")]), tmp_path, columns=columns)
    with pytest.raises(DataError, match="strategy is"):
        ts.match(events(spark, [(1, 1.0, "x")]), tmp_path, strategy="magic")


@pytest.mark.parametrize("strategy", ["broadcast", "shuffle", "sql"])
def test_empty_sides(spark, tmp_path, strategy):
    ts.compile_index(frame(spark, []), tmp_path)
    assert ts.match(events(spark, [(1, 1.0, "x")]), tmp_path, strategy=strategy).count() == 0
    ts.compile_index(frame(spark, [("a", "price < 10")]), tmp_path)
    assert ts.match(events(spark, []), tmp_path, strategy=strategy).count() == 0


def test_an_index_of_another_format_or_none(spark, tmp_path):
    given = events(spark, [(1, 1.0, "x")])
    with pytest.raises(StorageError, match="there is no index"):
        ts.match(given, tmp_path / "nothing")
    ts.compile_index(frame(spark, [("a", "price < 10")]), tmp_path)
    manifest = tmp_path / "v000001" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 99}))
    with pytest.raises(StorageError, match=r"format 99.*compile the subscriptions again"):
        ts.match(given, tmp_path)
    manifest.write_text("{")
    with pytest.raises(StorageError, match="is damaged"):
        ts.match(given, tmp_path)
