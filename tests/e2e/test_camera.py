"""The classic example of a buyer waiting for a camera: one event that matches, and two that do not, each for its reason."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis import Matcher

FILTER = "item = 'camera' and price < 300 and manufacturer in ('Sony', 'Nikon', 'Panasonic') and zoom > 4"
MATCHING = {
    "item": "camera",
    "color": "red",
    "weight": 8,
    "pixels": 14_000_000,
    "price": 199,
    "manufacturer": "Sony",
    "zoom": 5,
}
TOO_DEAR = {"item": "camera", "pixels": 14_000_000, "price": 399, "manufacturer": "Sony", "zoom": 5}
NO_ZOOM = {"item": "camera", "price": 129, "manufacturer": "Sony"}
EVENTS = [MATCHING, TOO_DEAR, NO_ZOOM]


def write_csv(path):
    columns = list(MATCHING)
    lines = [",".join(columns), *(",".join(str(event.get(c, "")) for c in columns) for event in EVENTS)]
    path.write_text("\n".join(lines) + "\n")


def write_jsonl(path):
    path.write_text("\n".join(map(json.dumps, EVENTS)))


def write_parquet(path):
    pq.write_table(pa.Table.from_pylist([{c: event.get(c) for c in MATCHING} for event in EVENTS]), path)


WRITERS = {"csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet}


def test_in_python():
    matcher = Matcher()
    matcher.subscribe("buyer", FILTER)
    assert matcher.match_many(EVENTS) == [["buyer"], [], []]
    assert [matcher.explain("buyer", event).matched for event in EVENTS] == [True, False, False]


@pytest.mark.parametrize("ending", WRITERS)
def test_through_match(run, tmp_path, ending):
    (tmp_path / "subs.csv").write_text(f'id,filter\nbuyer,"{FILTER}"\n')
    WRITERS[ending](tmp_path / f"events.{ending}")
    done = run("match", "--subscriptions", "subs.csv", "--events", f"events.{ending}")
    assert done.code == 0, done.err
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"event": 1, "matches": ["buyer"]},
        {"event": 2, "matches": []},
        {"event": 3, "matches": []},
    ]
    assert "1 subscription, 3 events, 1 match in" in done.err


@pytest.mark.parametrize(
    ("event", "verdict", "reason"),
    [
        (MATCHING, "matches", "✓ zoom > 4   (zoom is 5)"),
        (TOO_DEAR, "does not match", "✗ price < 300   (price is 399)"),
        (NO_ZOOM, "does not match", "? zoom > 4   (zoom is absent)"),
    ],
)
def test_through_explain(run, event, verdict, reason):
    done = run("explain", json.dumps(event), "--filter", FILTER)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == f"the filter {verdict}"
    assert reason in done.out
    assert done.out.count("✓ ") == {"matches": 5, "does not match": 3}[verdict]


def test_explain_as_data(run, tmp_path):
    (tmp_path / "event.json").write_text(json.dumps(TOO_DEAR))
    (tmp_path / "subs.jsonl").write_text(
        json.dumps({"id": "buyer", "filter": FILTER}) + '\n{"id": 7, "filter": "a = 1"}'
    )
    done = run("explain", "@event.json", "--subscriptions", "subs.jsonl", "--id", "buyer", "--json")
    told = json.loads(done.out)
    assert (told["id"], told["matched"]) == ("buyer", False)
    parts = {part["condition"]: part["outcome"] for part in told["explanation"]["children"]}
    assert parts["price < 300"] == "false"
    assert sorted(parts.values()) == ["false", "true", "true", "true"]
