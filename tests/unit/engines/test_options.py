"""Options of engines are refused with a reason before an engine sees them."""

from dataclasses import dataclass

import pytest

from tamis.engines.base import Options, make_options
from tamis.errors import EngineError


@dataclass(frozen=True, slots=True)
class Some(Options):
    """One option of each kind."""

    size: int = 1
    share: float = 0.5
    eager: bool = True
    name: str = "x"
    bounds: tuple[int, ...] | None = None


def test_good_options_reach_the_engine():
    assert make_options(Some, "some", {}) == Some()
    given = {"size": 5, "share": 1, "eager": False, "name": "y", "bounds": (1, 2)}
    assert make_options(Some, "some", given) == Some(5, 1, False, "y", (1, 2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sise": 1}, "engine 'some' has no option 'sise'; did you mean 'size'"),
        ({"size": "5"}, "option size takes an integer, not '5'"),
        ({"size": 5.0}, "option size takes an integer, not 5.0"),
        ({"size": True}, "option size takes an integer, not True"),
        ({"share": "half"}, "option share takes a number"),
        ({"eager": 1}, "option eager takes true or false"),
        ({"name": 3}, "option name takes text"),
    ],
)
def test_bad_options_are_named(given, message):
    with pytest.raises(EngineError, match=message):
        make_options(Some, "some", given)
