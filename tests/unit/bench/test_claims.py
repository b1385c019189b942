from dataclasses import replace

import pytest
from tests.unit.bench.sets import result, small_suite

from tamis.bench.claims import FAILS, HOLDS, OPEN, number, verdicts
from tamis.bench.results import points
from tamis.bench.spec import Claim
from tamis.errors import DataError

LEFT, RIGHT = {50: 8.0, 100: 9.0, 200: 12.0}, {50: 10.0, 100: 6.0, 200: 3.0}
POINTS = points([result(name, n, [y]) for name, line in (("left", LEFT), ("right", RIGHT)) for n, y in line.items()])


def judged(**test):
    suite = small_suite()
    found = verdicts(replace(suite, claims=[Claim("so it is", "1", test)]), POINTS)
    return found[0].verdict, found[0].measured


@pytest.mark.parametrize(
    ("test", "holds", "told"),
    [
        ({"kind": "ratio", "of": "left", "to": "right", "least": 3.5}, True, "left / right = 4 at 200"),
        ({"kind": "ratio", "of": "left", "to": "right", "most": 3.5}, False, "= 4"),
        ({"kind": "ratio", "of": "left", "to": "right", "at": "first", "most": 0.9}, True, "= 0.8 at 50"),
        ({"kind": "ratio", "of": "left", "to": "right", "at": "every", "least": 1}, False, "0.8 to 4"),
        ({"kind": "growth", "of": "left", "least": 1.5, "most": 1.5}, True, "8 → 12"),
        ({"kind": "growth", "of": "left", "per_x": True, "most": 0.4}, True, "1.5 times"),
        ({"kind": "lead", "of": "left", "to": "right", "least": 5.0}, True, "0.8 at 50, 4 at 200"),
        ({"kind": "bound", "of": "right", "most": 3.0}, True, "right: 3"),
        ({"kind": "bound", "of": "right", "at": "every", "most": 3.0}, False, "3 to 10"),
        ({"kind": "crossing", "of": "right", "to": "left"}, True, "1.25 at 50"),
        ({"kind": "crossing", "of": "left", "to": "right"}, False, "0.8 at 50"),
        ({"kind": "order", "series": ["right", "left"]}, True, "right 3, left 12 at 200"),
        ({"kind": "order", "series": ["left", "right"]}, False, ""),
        ({"kind": "best", "of": "right", "among": ["left", "right"]}, True, "right 3, left 12"),
        ({"kind": "best_at", "of": "left", "least": 100, "slack": 0.2}, True, "least at 50"),
        ({"kind": "best_at", "of": "left", "least": 100}, False, "least at 50"),
        (
            {"kind": "window", "of": "left", "early": [0, 60], "late": [90, 300], "least": 1.3},
            True,
            "8 before, 10.5 after",
        ),
    ],
)
def test_kinds_of_test(test, holds, told):
    verdict, measured = judged(**test)
    assert verdict == (HOLDS if holds else FAILS)
    assert told in measured


@pytest.mark.parametrize("kind", ["ratio", "lead", "crossing"])
def test_what_was_not_measured_is_left_open(kind):
    assert judged(kind=kind, of="left", to="nobody") == (OPEN, "")


def test_a_kind_that_does_not_exist_is_named():
    with pytest.raises(DataError, match="tested by 'rate', which does not exist"):
        judged(kind="rate", of="left")


def test_numbers_have_three_digits():
    assert [number(x) for x in (0.12345, 12.345, 1234.5, 5, "mix")] == ["0.123", "12.3", "1,234", "5", "mix"]


def test_derived_metrics_and_their_spread():
    point = points([result("left", 50, [1000.0, 3000.0, 2000.0])])[0]
    assert (point.metric("batch_ms"), point.spread("batch_ms")) == (2.0, (1.0, 3.0))
    assert point.metric("us_per_match") == 1000.0
    assert point.metric("bytes_per_subscription") == 100.0
    assert point.metric("events_per_s") == 500.0
    assert point.metric("single_ms") is None
    assert point.metric("nonsense") is None
