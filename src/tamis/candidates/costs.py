"""What the steps of matching with clusters cost on this machine, in nanoseconds, measured once and kept in the cache.

The cost model (Fabret et al., section 3.2) of access predicates p in tables H:

    K_r·|H|  +  Σ_H μ(H)·K_h·|schema(H)|  +  Σ_p ν(p)·Σ_{cluster c under p} K_c·|c|·(size(c) − |p|)

with μ(H) the share of events that have all attributes of H, and ν(p) the share that satisfies p.
"""

import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.bits import has_bit
from tamis.arrays.jit import cache_root, kernel
from tamis.arrays.slots import Slots, first_slot, mix, new_slots, put
from tamis.encoding.keys import Int32Array, Int64Array

TABLE_BYTES = 64  # an empty table: its schema and counters
ENTRY_BYTES = 96  # an access predicate: its entry, two hash slots, the head of a cluster
CELL_BYTES = 4  # a predicate id in a cluster
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Costs:
    """K_r: to consider a table; K_h: to hash one attribute of an access predicate; K_c: to test one predicate."""

    retrieve: float
    hash: float
    check: float


def machine_costs() -> Costs:
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


def measure() -> Costs:
    """Time the three steps on arrays of the size a few hundred thousand conjunctions have."""
    random = np.random.default_rng(0)
    n = 1 << 18
    ids = random.integers(0, 1 << 14, n).astype(np.int32)
    bits = random.integers(0, 1 << 62, 1 << 8).astype(np.uint64)
    slots = new_slots(1 << 17)
    fill(slots, ids[: 1 << 15])
    present = random.integers(0, 2, 64)
    tables = random.integers(0, 64, (64, 2)).astype(np.int32)
    check = shortest(lambda: check_many(ids, bits), n)
    hashing = shortest(lambda: hash_many(slots, ids[: 1 << 16]), 1 << 17)
    retrieve = shortest(lambda: retrieve_many(tables, present, 1000), 64 * 1000)
    return Costs(retrieve, hashing, check)


def shortest(step: Callable[[], int], count: int) -> float:
    """Nanoseconds per item of the fastest of several runs, the first of which only compiles."""
    times = []
    for _ in range(REPEATS + 1):
        start = perf_counter()
        step()
        times.append(perf_counter() - start)
    return max(min(times[1:]) / count * 1e9, 1e-3)


@kernel
def fill(slots: Slots, ids: Int32Array) -> None:
    """An access predicate of two ids for each item."""
    for i in range(len(ids)):
        put(slots, mix(mix(0, ids[i]), ids[i] ^ 1), i)


@kernel
def check_many(ids: Int32Array, bits: NDArray[np.uint64]) -> int:
    """Test one predicate after the other."""
    count = 0
    for i in range(len(ids)):
        if has_bit(bits, ids[i]):
            count += 1
    return count


@kernel
def hash_many(slots: Slots, ids: Int32Array) -> int:
    """Look up access predicates of two ids each."""
    count = 0
    for i in range(len(ids)):
        h = mix(mix(0, ids[i]), ids[i] ^ 1)
        slot = first_slot(slots, h)
        while slots.items[slot] >= 0 and slots.hashes[slot] != h:
            slot = (slot + 1) & (len(slots.items) - 1)
        count += slots.items[slot]
    return count


@kernel
def retrieve_many(tables: Int32Array, present: Int64Array, rounds: int) -> int:
    """Decide for each table whether the event has its attributes."""
    count = 0
    for serial in range(rounds):
        for t in range(len(tables)):
            if present[tables[t, 0]] == serial & 1 and present[tables[t, 1]] == serial & 1:
                count += 1
    return count
