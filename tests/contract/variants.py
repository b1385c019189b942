"""Which engines the contract suite runs: every registered one with its defaults, and the option sets listed here."""

from tamis.candidates.costs import Costs
from tamis.engines.registry import ENGINES

OPTIONS: dict[str, list[dict[str, object]]] = {
    "counting": [
        {"association": association, "index": index}
        for association in ("lists", "bitmatrix", "matrix")
        for index in ("table", "list", "sorted")
        if (association, index) != ("lists", "table")
    ],
    "propagation": [{"prefetch": False, "index": "list"}, {"prefetch": True, "index": "table"}],
    "sql": [{"strategy": "sequential"}],
    "pubsub": [{"bucket_size": 1, "structure": d, "text": "suffix"} for d in ("it", "rbpst", "hash")],
    "tamis": [{"merge": "inline", "merge_least": 1}, {"threads": 2, "merge": "never"}, {"look_up_ns": 0.0}],
    "betree": [{"leaf_capacity": 1, "visit_cost": 2}],
    "static": [{"max_attributes": 4, "costs": Costs(0.0, 0.0, 1.0)}],
    "dynamic": [{"max_margin": 0.01, "min_power": 0.1, "min_benefit": 0.1, "refresh": 2, "memory": 8}],
}
"""engine → further option sets to run the suite with (the defaults always run)."""

EXAMPLES: dict[str, int] = {"scan": 1000, "sql": 20}
"""engine → random worlds per property. The oracle must be beyond doubt; a database answers slowly; the rest share the minutes."""
DEFAULT_EXAMPLES = 60

VARIANTS = [(name, options) for name in ENGINES for options in ({}, *OPTIONS.get(name, []))]


def label(variant: tuple[str, dict[str, object]]) -> str:
    name, options = variant
    return "-".join([name, *(str(value) for value in options.values())])
