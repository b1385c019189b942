"""Content-based publish/subscribe.

Subscribers leave standing conditions, publishers send events, and tamis finds every condition an event satisfies::

    item = 'camera' and price < 300          a subscription: any boolean combination of predicates
    {"item": "camera", "price": 199}         an event: attribute = value pairs

A database holds data and answers queries as they come; here it is the other way round. The queries are what is stored,
perhaps millions of them, and the data flows past. Looking at every stored condition for every event would be far too
slow, so the work is split: an event selects the *predicates* it satisfies, those select the *candidates* that may
match, a last check leaves the *matches*, and the owners of the matches are *notified*. The folders of this package
follow that path, and every algorithm in ``engines`` is one way to walk it with less work.

Meaning does not depend on the algorithm. ``model.evaluate`` states it in plain Python, and every engine is held to it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tamis.errors import TamisError
    from tamis.lang import attr, call, var
    from tamis.matcher import Explanation, Matcher
    from tamis.model.limits import Limits
    from tamis.model.schema import PublicationType
    from tamis.operators import operator

__all__ = ["Explanation", "Limits", "Matcher", "PublicationType", "TamisError", "attr", "call", "operator", "var"]

__version__ = "0.1.0"

HOMES = {
    "TamisError": "tamis.errors",
    "attr": "tamis.lang",
    "call": "tamis.lang",
    "var": "tamis.lang",
    "Explanation": "tamis.matcher",
    "Matcher": "tamis.matcher",
    "Limits": "tamis.model.limits",
    "PublicationType": "tamis.model.schema",
    "operator": "tamis.operators",
}


def __getattr__(name: str) -> Any:
    """Exports are imported when first used: the command line must answer `--help` before Numba would have loaded."""
    if name not in HOMES:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
