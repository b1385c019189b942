"""Results made up for tests."""

from typing import Any

from tamis.bench.results import OK, Result, Run
from tamis.bench.spec import Suite, parse_suite

TOML = """
title = "A small suite"
source = "nobody (paper 9), figure 1"
about = "Made for tests."

[engines.left]
engine = "scan"
[engines.right]
engine = "counting"
options = {association = "lists"}
most = {quick = 100}

[[groups]]
name = "sizes"
title = "sizes"
workload = {kind = "topss", events = 20}
engines = ["left", "right"]
quick = {subscriptions = [50, 100, 200]}
full = {subscriptions = [1000]}
settings.quick = {seconds = 0.01}
overview = {label = "small", where = {subscriptions = 100}}

[[figures]]
id = "1"
title = "Times"
group = "sizes"
x = "subscriptions"
y = "batch_us"
x_title = "subscriptions"
y_title = "µs"
paper = [{series = "left (paper)", points = [[50, 7.0], [100, 9.0]]}]

[[claims]]
text = "Left is slower <than> right."
figure = "1"
test = {kind = "ratio", of = "left", to = "right", at = "last", least = 1.0}
"""


def small_suite() -> Suite:
    return parse_suite("small", TOML)


def result(label: str, count: int, batch: list[float], status: str = OK, **more: Any) -> Result:
    engine = {"left": "scan", "right": "counting"}.get(label, label)
    options = {"association": "lists"} if engine == "counting" else {}
    workload = {"kind": "topss", "events": 20, "subscriptions": count}
    run = Run("small", "quick", "sizes", "match", label, engine, options, workload, {"seconds": 0.01}, 1)
    values = {"matches_per_event": 2.0, "subscriptions": count, "bytes_held": 100.0 * count}
    rows = [{"samples": {"batch_us": batch}, "values": values, "by_output": [[2, 4.0]] * 5}]
    return Result(run, status, rows if status == OK else [], **more)
