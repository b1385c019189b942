"""What the steps of matching with clusters cost on this machine, in nanoseconds, measured once and kept in the cache.

The cost model (Fabret et al., section 3.2) of access predicates p in tables H:

    K_r·|H|  +  Σ_H μ(H)·K_h·|schema(H)|  +  Σ_p ν(p)·Σ_{cluster c under p} K_c·|c|·(size(c) − |p|)

with μ(H) the share of events that have all attributes of H, and ν(p) the share that satisfies p.
"""

import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass

from tamis.arrays.jit import cache_root

TABLE_BYTES = 64  # an empty table: its schema and counters
ENTRY_BYTES = 96  # an access predicate: its entry, two hash slots, the head of a cluster
CELL_BYTES = 4  # a predicate id in a cluster


@dataclass(frozen=True, slots=True)
class Costs:
    """K_r: to consider a table; K_h: to hash one attribute of an access predicate; K_c: to test one predicate."""

    retrieve: float
    hash: float
    check: float


def machine_costs(measure: Callable[[], Costs]) -> Costs:
    """The costs of this machine: from the cache, or measured now and put there."""
    file = cache_root() / f"costs-{platform.node()}-{platform.machine()}.json"
    try:
        return Costs(**{name: float(value) for name, value in json.loads(file.read_text()).items()})
    except (OSError, ValueError, TypeError, AttributeError):
        costs = measure()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(asdict(costs)))
    except OSError:
        return costs  # a cache that cannot be written only costs the next process a measurement
    return costs
