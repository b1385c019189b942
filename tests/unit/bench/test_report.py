import html.parser
import re
from dataclasses import replace
from importlib import resources

from tests.unit.bench.sets import result, small_suite

from tamis.bench.figures import figure_rows
from tamis.bench.report import Page, planned, recommendation, write_report
from tamis.bench.results import UNAVAILABLE, points

EMPTY = {"img", "meta", "br"}


class Checker(html.parser.HTMLParser):
    """Every tag that is opened is closed, in order; collects what the page would load."""

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.loads += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_whole_valid_and_loads_nothing(tmp_path):
    speeds = {"left": 1.0, "right": 2.0, "tree": 3.0}
    results = [result(name, n, [n * by, (n + 1) * by, (n + 2) * by]) for name, by in speeds.items() for n in (50, 100)]
    results.append(result("right", 200, [], UNAVAILABLE, reason="PostgreSQL is not there"))
    skipped = ["old.json: result of format 0, this version reads 1"]
    page = write_report([small_suite()], results, skipped, "quick", tmp_path).read_text()
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert page.startswith("<!doctype html>")
    assert checker.loads
    assert all(load.startswith(("data:image/png;base64,", "#")) for load in checker.loads)
    inside = {load[1:] for load in checker.loads if load.startswith("#")}
    assert inside <= set(re.findall(r'id="([^"]+)"', page))
    assert not re.search(r"https?://|//[a-z]", re.sub(r'base64,[^"]+', "", page))
    text = " ".join(checker.text)
    for told in (
        "Left is slower <than> right.",
        "does not hold here",
        "left (paper)",
        "PostgreSQL is not there",
        "old.json",
    ):
        assert told in text
    short = (tmp_path / "summary.md").read_text()
    assert "| small, 1 | Left is slower <than> right. | ✗ | left / right = 0.5 at 100 subscriptions |" in short
    assert "| 100 | 101 | 202 | 303 | 9 |" in short
    pictures = {file.name for file in tmp_path.glob("*.png")}
    assert "small-1.png" in pictures
    assert "overview-batch_us.png" in pictures
    assert all((tmp_path / name).read_bytes()[:4] == b"\x89PNG" for name in pictures)


def test_results_come_in_the_order_of_the_suite_and_those_of_a_former_plan_are_named():
    results = [result("right", 100, [1.0]), result("left", 77, [1.0]), result("left", 50, [1.0])]
    kept, former = planned([small_suite()], results, "quick")
    assert [each.run.workload["subscriptions"] for each in kept] == [50, 100]
    assert former == ["small: 1 results of workloads that the suite does not have (any more)"]


def test_an_engine_the_suite_does_not_list_is_in_the_figure():
    found = points([result("left", 50, [1.0]), result("tree", 50, [2.0])])
    rows = figure_rows(found, small_suite().figures[0], "small")
    assert {(row.series, row.paper) for row in rows} == {("left", False), ("tree", False), ("left (paper)", True)}
    listed = replace(small_suite().figures[0], series=["left"])
    assert {row.series for row in figure_rows(found, listed, "small", known={"left", "right"}) if not row.paper} == {
        "left",
        "tree",
    }


def test_time_per_match_is_pooled_by_output():
    figure = replace(small_suite().figures[0], x="output", paper=[])
    many = replace(result("left", 50, [1.0]), rows=[{"by_output": [[20, 10.0]] * 5}])
    rows = figure_rows(points([many, result("left", 100, [1.0])]), figure, "small")
    assert [(row.series, row.x, row.y) for row in rows] == [("left", 2, 2.0), ("left", 20, 0.5)]


def test_the_table_of_recommendations_is_shown_when_there_is_one(tmp_path, monkeypatch):
    (tmp_path / "recommendation.toml").write_text(
        "[[workload]]\nseed = 1\nsubscriptions = 5000\npredicates = 2.5\ncost = {tamis = 2.0, tree = 9.0}\n"
        "[[workload]]\nseed = 2\nsubscriptions = 10\npredicates = 1.0\ncost = {scan = 1.0, tamis = 1.5}\n"
    )
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    page = Page(tmp_path)
    recommendation(page)
    text = page.html("a page")
    assert "among 2 random ones. The best engine on them: tamis 1, scan 1." in text
    assert "tamis, 1.5 times" in text
    assert "tree, 4.5 times" in text
