import pytest

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.registry import ENGINES, build_engine, engine_class
from tamis.errors import EngineError


def test_every_engine_describes_itself():
    for name in ENGINES:
        kind = engine_class(name)
        assert kind.capabilities.summary
        assert kind.capabilities.source


def test_an_unknown_engine_names_the_nearest():
    with pytest.raises(EngineError, match="did you mean 'scan'"):
        engine_class("scam")


def test_an_unknown_option_is_refused():
    with pytest.raises(EngineError, match="has no option 'speed'"):
        build_engine("scan", SubscriptionTable.empty(Dictionary()), {"speed": 11})
