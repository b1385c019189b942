"""Engines by name, imported when first asked for; registering one gives it the contract suite and a place in every plot."""

from importlib import import_module
from typing import Any

from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Engine, make_options
from tamis.errors import EngineError, nearest

ENGINES: dict[str, str] = {
    "tamis": "tamis.engines.tamis:TamisEngine",
    "scan": "tamis.engines.scan:ScanEngine",
    "sql": "tamis.engines.sql.engine:SqlEngine",
    "tree": "tamis.engines.tree:TreeEngine",
    "rapid": "tamis.engines.rapid:RapidEngine",
    "counting": "tamis.engines.counting:CountingEngine",
    "propagation": "tamis.engines.propagation:PropagationEngine",
    "betree": "tamis.engines.betree:BetreeEngine",
    "static": "tamis.engines.static:StaticEngine",
    "dynamic": "tamis.engines.dynamic:DynamicEngine",
    "siena": "tamis.engines.siena:SienaEngine",
    "pubsub": "tamis.engines.pubsub:PubsubEngine",
}
DEFAULT = "tamis"


def engine_class(name: str) -> type[Engine]:
    """The class of a registered engine."""
    if name not in ENGINES:
        listed = ", ".join(ENGINES)
        raise EngineError(f"there is no engine {name!r}{nearest(name, ENGINES)} (engines: {listed})")
    from tamis.arrays.blas import scipy_later  # with Numba, which naming engines does not need

    module, _, attribute = ENGINES[name].partition(":")
    scipy_later()
    found: type[Engine] = getattr(import_module(module), attribute)
    return found


def build_engine(name: str, subscriptions: SubscriptionTable, options: dict[str, Any] | None = None) -> Engine:
    """An engine by name, with its options as keywords."""
    kind = engine_class(name)
    return kind.build(subscriptions, make_options(kind.options_type, name, options or {}))
