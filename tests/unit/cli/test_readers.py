"""Rows come with their lines, and a bad one never takes its neighbours with it."""

import io
import os
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.cli.problems import Problems
from tamis.cli.readers import Row, read
from tamis.cli.source import Lines, source
from tamis.errors import DataError


def rows(path: Path, content: bytes, problems: Problems) -> list[Row]:
    path.write_bytes(content)
    return [row for chunk in read(source(str(path)), problems) for row in chunk]


def test_jsonl_keeps_line_numbers_over_blank_and_bad_lines(tmp_path, capsys):
    problems = Problems()
    content = b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": \n[2]\n{"b": "\xff"}\n"no newline"'
    found = rows(tmp_path / "x.jsonl", content, problems)
    assert found == [Row(1, 1, {"a": 1}), Row(4, 3, [2]), Row(6, 5, "no newline")]
    assert problems.count == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[0][-2:] for line in told] == [":3", ":5"]


def test_csv_quotes_blank_fields_and_bad_rows(tmp_path, capsys):
    problems = Problems()
    content = b'id, filter\nbob,"a = 1,\nb"\n\nonly\neve,"x"y\nann,\ntom,\xe9\nzoe,z'
    found = rows(tmp_path / "x.csv", content, problems)
    assert found == [
        Row(2, 1, {"id": "bob", "filter": "a = 1,\nb"}),
        Row(7, 4, {"id": "ann"}),
        Row(9, 6, {"id": "zoe", "filter": "z"}),
    ]
    told = capsys.readouterr().err
    assert "x.csv:5: 1 fields, but the header has 2" in told
    assert "x.csv:6: not CSV" in told
    assert "x.csv:8: not UTF-8" in told
    assert problems.count == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "empty"), (b"a,a\n", "'a' twice"), (b"a,,b\n", "without a readable name"), (b'"a', "not CSV")],
)
def test_csv_header_is_checked(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        rows(tmp_path / "x.csv", content, Problems())


def test_text_has_one_filter_a_line(tmp_path):
    found = rows(tmp_path / "x.txt", b"# wishes\na = 1\n\n  b = 2\n", Problems())
    assert found == [Row(2, 2, {"id": 2, "filter": "a = 1"}), Row(4, 4, {"id": 4, "filter": "  b = 2"})]


def test_parquet_becomes_what_json_could_hold(tmp_path):
    table = pa.table(
        {
            "n": [1, None],
            "at": [datetime(2024, 5, 1, 12, tzinfo=UTC), None],
            "day": [date(1970, 1, 2), None],
            "cost": [Decimal("1.50"), Decimal("2")],
            "tags": [["a", "b"], []],
            "seller": [{"city": "Lyon"}, None],
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    advanced: list[int] = []
    (chunk,) = read(source(str(tmp_path / "x.parquet")), Problems(), advanced.append)
    assert [row.line for row in chunk] == [1, 2]
    first, second = (row.data for row in chunk)
    assert first == {
        "n": 1,
        "at": 1_714_564_800_000_000,
        "day": 86_400_000_000,
        "cost": 1.5,
        "tags": ["a", "b"],
        "seller": {"city": "Lyon"},
    }
    assert second == {"n": None, "at": None, "day": None, "cost": 2.0, "tags": [], "seller": None}
    assert sum(advanced) == (tmp_path / "x.parquet").stat().st_size


@pytest.mark.parametrize("content", [b"", b"PAR1 but not really PAR1", b"{}"])
def test_a_file_that_is_not_parquet(tmp_path, content):
    with pytest.raises(DataError, match="not a readable Parquet file"):
        rows(tmp_path / "x.parquet", content, Problems())


def test_strict_stops_at_the_first_bad_row(tmp_path):
    with pytest.raises(DataError, match=r"x\.jsonl:2: not JSON"):
        rows(tmp_path / "x.jsonl", b"1\n{\n2\n", Problems(strict=True))


def test_many_problems_are_counted_not_shown(tmp_path, capsys):
    problems = Problems(shown=3)
    rows(tmp_path / "x.jsonl", b"{\n" * 50, problems)
    assert problems.count == 50
    assert len(capsys.readouterr().err.splitlines()) == 4


def test_a_name_must_tell_its_format(tmp_path):
    with pytest.raises(DataError, match=r"should end in one of \.csv"):
        source(str(tmp_path / "x.xlsx"))
    with pytest.raises(DataError, match="no such file"):
        source(str(tmp_path / "x.csv"))
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match="directory"):
        source(str(tmp_path / "d.csv"))


@given(st.binary(max_size=200))
def test_lines_are_those_of_the_bytes(content):
    lines = list(Lines(io.BytesIO(content), "x", lambda _: None))
    expected = content.split(b"\n")
    if not expected[-1]:
        expected.pop()
    if expected:
        expected[0] = expected[0].removeprefix(b"\xef\xbb\xbf")
    assert lines == [line.removesuffix(b"\r") for line in expected]


def test_lines_of_a_pipe_are_there_before_it_ends():
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb", buffering=0) as writer:
        lines = Lines(stream, "-", lambda _: None)
        writer.write(b"one\ntwo\nthr")
        assert (next(lines), lines.drained) == (b"one", False)
        assert (next(lines), lines.drained) == (b"two", True)
        writer.write(b"ee\n")
        assert next(lines) == b"three"


def test_a_line_without_end_is_refused():
    with pytest.raises(DataError, match="line 2 is over 16 MiB"):
        list(Lines(io.BytesIO(b"x\n" + b"y" * (17 << 20)), "x", lambda _: None))


@given(st.binary(max_size=300), st.sampled_from(["csv", "jsonl", "txt", "parquet"]))
def test_any_bytes_give_rows_or_a_tamis_error(tmp_path_factory, content, ending):
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    with suppress(DataError):
        rows(path, content, Problems(shown=0))
