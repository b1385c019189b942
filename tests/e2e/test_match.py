"""`tamis match` over files good and bad."""

import json

import pyarrow.parquet as pq
import pytest

SUBSCRIPTIONS = "id,filter\nalice,price < 300\nbob,price <\n7,exists(zoom)\nalice,a = 1\n"
EVENTS = '{"price": 199}\n{"price":\n[1]\n\n{"zoom": 4, "price": 400}\n{"x": {"a": 1}, "x.a": 3}\n{"a": 1, "a": 2}\n'


@pytest.fixture
def files(tmp_path):
    (tmp_path / "s.csv").write_text(SUBSCRIPTIONS)
    (tmp_path / "e.jsonl").write_text(EVENTS)


@pytest.mark.usefixtures("files")
def test_bad_rows_are_told_and_the_rest_goes_on(run):
    done = run("match", "-s", "s.csv", "-e", "e.jsonl")
    assert done.code == 1
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"event": 1, "matches": ["alice"]},
        {"event": 4, "matches": [7]},
    ]
    places = [line.split(": ")[0] for line in done.err.splitlines() if line.startswith(("s.csv", "e.jsonl"))]
    assert sorted(places) == ["e.jsonl:2", "e.jsonl:3", "e.jsonl:6", "e.jsonl:7", "s.csv:3", "s.csv:5"]
    assert "line 1, column 8" in done.err
    assert done.err.endswith("tamis: left out 6 bad rows\n")


@pytest.mark.usefixtures("files")
def test_strict_stops_at_the_first(run):
    done = run("match", "-s", "s.csv", "-e", "e.jsonl", "--strict")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("tamis: s.csv:3: 'bob'")


def test_parquet_output_and_integer_ids(run, tmp_path):
    (tmp_path / "s.txt").write_text("# two filters\na = 1\nb = 2\n")
    done = run("match", "-s", "s.txt", "-e", "-", "-o", "m.parquet", "--quiet", stdin=b'{"a": 1, "b": 2}\n{"a": 2}\n')
    assert done == (0, "", "")
    table = pq.read_table(tmp_path / "m.parquet")
    assert str(table.schema.field("matches").type.value_type) == "int64"
    assert [(row["event"], sorted(row["matches"])) for row in table.to_pylist()] == [(1, [2, 3]), (2, [])]


def test_parquet_output_with_mixed_ids_is_text(run, tmp_path):
    (tmp_path / "s.csv").write_text("id,filter\n1,a = 1\nann,a = 1\n")
    run("match", "-s", "s.csv", "-e", "-", "-o", "m.parquet", stdin=b'{"a": 1}')
    (row,) = pq.read_table(tmp_path / "m.parquet").to_pylist()
    assert sorted(row["matches"]) == ["1", "ann"]


def test_subscriptions_from_standard_input(run, tmp_path):
    (tmp_path / "e.csv").write_text("a,b\n1,\n,true\n")
    done = run("match", "-s", "-", "--format", "csv", "-e", "e.csv", "-q", stdin=b"id,filter\nx,a = 1\ny,b = true\n")
    assert [json.loads(line)["matches"] for line in done.out.splitlines()] == [["x"], ["y"]]


def test_many_events_in_several_chunks(run, tmp_path):
    (tmp_path / "s.csv").write_text("id,filter\n" + "".join(f"{i},n = {i}\n" for i in range(50)))
    (tmp_path / "e.csv").write_text("n,padding\n" + "".join(f"{i % 100},{'x' * 60}\n" for i in range(40_000)))
    done = run("match", "-s", "s.csv", "-e", "e.csv")
    assert done.code == 0, done.err
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [each["event"] for each in found] == list(range(1, 40_001))
    assert all(each["matches"] == ([i % 100] if i % 100 < 50 else []) for i, each in enumerate(found))


def test_a_declared_type_is_kept_to(run, tmp_path):
    (tmp_path / "t.type").write_text("price: int[0..1000]\ncolor: enum{red, green}\n")
    (tmp_path / "s.csv").write_text("id,filter\na,price < 300\nb,colour = 'red'\nc,price < 2000\n")
    (tmp_path / "e.csv").write_text("price,color\n5,red\n5000,red\n7,blue\n")
    done = run("match", "-s", "s.csv", "-e", "e.csv", "--type", "t.type")
    assert done.code == 1
    assert json.loads(done.out) == {"event": 1, "matches": ["a"]}
    assert "s.csv:3: 'b'" in done.err
    assert "did you mean 'color'?" in done.err
    assert "s.csv:4: 'c'" in done.err
    assert "e.csv:3: attribute 'price': 5000 is outside its domain int[0..1000]" in done.err
    assert "e.csv:4: attribute 'color': 'blue'" in done.err


def test_an_input_is_never_overwritten(run, tmp_path):
    (tmp_path / "s.jsonl").write_text('{"id": 1, "filter": "a = 1"}\n')
    done = run("match", "-s", "s.jsonl", "-e", "-", "-o", "./s.jsonl")
    assert done.code == 1
    assert "is also an input" in done.err
    assert (tmp_path / "s.jsonl").read_text()
