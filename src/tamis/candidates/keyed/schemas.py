"""Access keys over several equalities: which sets of attributes are worth a hash table, and which conjunctions go there.

A *schema* is a set of two to four attributes whose values are hashed together. An event looks up one key for each schema all
of whose attributes it has, however many attributes that are; so a schema pays where many conjunctions name the same
attributes. Schemas are chosen greedily on a sample of the conjunctions, the one that saves most beyond its look-ups
first, and those that later ones made superfluous are given up again (Fabret et al., section 3, for hashed clusters).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.csr import grouped
from tamis.arrays.hashing import scattered
from tamis.arrays.jit import kernel, leaf
from tamis.candidates.keyed.coded import Coded
from tamis.candidates.keyed.weights import Float64Array
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import ALL, IN

FEWEST, WIDEST = 2, 4
"""Attributes of a schema."""
EQUALITIES = 8
"""Of a conjunction, so many equalities (the least likely) are combined into possible schemas."""
MOST = 4096
"""Schemas an index may have."""
GATHERED = 3.0
"""Look-ups of a pair that one under a schema is worth: its values are gathered from all over the event and mixed first."""
LEAD = 0.4
"""What an event pays, in look-ups, for a schema of which it has the rarest attribute, whether or not it has the others."""

UInt64Array = NDArray[np.uint64]
NO_SCHEMAS = np.zeros((0, WIDEST), np.int32)


class Schemas(NamedTuple):
    """slots int32[WIDEST × schemas]: the slots of each, the rarest first, padded with -1; starts int32[slots + 1]: the schemas
    that a slot leads are starts[s]:starts[s+1]."""

    slots: Int32Array
    starts: Int32Array


@leaf
def value_hash(slot: int, code: int) -> np.uint64:
    """What a value contributes to the hash of a schema's values, which is the exclusive or of them all; never 0."""
    return scattered(slot << 32 | code) | np.uint64(1)


@leaf
def is_point(coded: Coded, p: int) -> bool:
    """Whether predicate p is an equality."""
    return (coded.ops[p] == IN or coded.ops[p] == ALL) and coded.lo[p] == coded.hi[p]


@leaf
def points(coded: Coded, likely: Float64Array, c: int, out: Int32Array) -> int:
    """Write the equalities of conjunction c to `out`, of each slot the least likely, and the least likely of too many.

    Returns how many there are.
    """
    n = 0
    for p in range(coded.offsets[c], coded.offsets[c + 1]):
        if not is_point(coded, p):
            continue
        at, worst = n, 0
        for i in range(n):
            if coded.slots[out[i]] == coded.slots[p]:
                at = i
            if likely[out[i]] > likely[out[worst]]:
                worst = i
        if at == n and n < len(out):
            out[at] = p
            n += 1
            continue
        at = worst if at == n else at
        if likely[p] < likely[out[at]]:
            out[at] = p
    return n


@kernel
def combinations(
    coded: Coded, likely: Float64Array, now: Float64Array
) -> tuple[UInt64Array, Int32Array, Float64Array, Int32Array]:
    """All ways to file conjunctions under a schema that is less likely than now[c].

    Returns, a row each: a hash of the schema uint64[m], c int32[m], the probability of the key float64[m], and the slots
    int32[WIDEST m], padded with -1.
    """
    equal = np.empty(EQUALITIES, np.int32)
    total = 0
    for c in range(len(coded.owners)):
        total += 1 << points(coded, likely, c, equal)
    schema, row = np.empty(total, np.uint64), np.empty(total, np.int32)
    chance, slots = np.empty(total, np.float64), np.full(WIDEST * total, -1, np.int32)
    m = 0
    for c in range(len(now)):
        n = points(coded, likely, c, equal)
        for mask in range(1 << n):
            probability, size, mixed = 1.0, 0, np.uint64(0)
            for i in range(n):
                if mask >> i & 1:
                    if size < WIDEST:
                        slots[WIDEST * m + size] = coded.slots[equal[i]]
                    probability *= likely[equal[i]]
                    mixed ^= scattered(coded.slots[equal[i]] + 1)
                    size += 1
            if FEWEST <= size <= WIDEST and probability < now[c]:
                schema[m], row[m], chance[m] = mixed, c, probability
                m += 1
            slots[WIDEST * m : WIDEST * (m + 1)] = -1
    return schema[:m].copy(), row[:m].copy(), chance[:m].copy(), slots[: WIDEST * m].copy()


@kernel
def select(
    now: Float64Array, starts: Int64Array, rows: Int32Array, chance: Float64Array, price: Float64Array
) -> NDArray[np.bool_]:
    """Which schemas are worth their price, greedily: bool[g]. Lowers `now` to the cost of each row under them.

    Schema g would make row rows[i] cost chance[i], i in starts[g]:starts[g+1]; price float64[g], in the same unit. What a
    schema saves only falls while others are added, so an old figure is an upper bound, and is renewed only where it leads.
    """
    before = now.copy()
    chosen, net = np.zeros(len(price), np.bool_), np.full(len(price), np.inf)
    for _ in range(MOST):
        best, most = -1, 0.0
        for g in range(len(price)):
            if net[g] > most:
                net[g] = saving(now, starts, rows, chance, g) - price[g]
                if net[g] > most:
                    best, most = g, net[g]
        if best < 0:
            break
        for i in range(starts[best], starts[best + 1]):
            now[rows[i]] = min(now[rows[i]], chance[i])
        chosen[best], net[best] = True, 0.0
    while give_up(before, now, starts, rows, chance, price, chosen):
        pass
    return chosen


@leaf
def saving(now: Float64Array, starts: Int64Array, rows: Int32Array, chance: Float64Array, g: int) -> float:
    """What schema g would take off the present cost of all rows."""
    saved = 0.0
    for i in range(starts[g], starts[g + 1]):
        saved += max(0.0, now[rows[i]] - chance[i])
    return saved


@kernel
def give_up(
    before: Float64Array,
    now: Float64Array,
    starts: Int64Array,
    rows: Int32Array,
    chance: Float64Array,
    price: Float64Array,
    chosen: NDArray[np.bool_],
) -> bool:
    """Take back the schema that is least worth its price, if there is one that is not; updates `now` and `chosen`.

    Returns whether there was. `before`: the cost of rows under no schema.
    """
    best, second = before.copy(), before.copy()
    under = np.full(len(before), -1, np.int32)
    for g in range(len(chosen)):
        if chosen[g]:
            for i in range(starts[g], starts[g + 1]):
                r = rows[i]
                if chance[i] < best[r]:
                    best[r], second[r], under[r] = chance[i], best[r], g
                elif chance[i] < second[r]:
                    second[r] = chance[i]
    loss = np.zeros(len(chosen), np.float64)
    for r in range(len(best)):
        now[r] = best[r]
        if under[r] >= 0:
            loss[under[r]] += second[r] - best[r]
    worst = -1
    for g in range(len(chosen)):
        if chosen[g] and loss[g] <= price[g] and (worst < 0 or loss[g] - price[g] < loss[worst] - price[worst]):
            worst = g
    if worst < 0:
        return False
    chosen[worst] = False
    for r in range(len(best)):
        if under[r] == worst:
            now[r] = second[r]
    return True


def best_schemas(
    coded: Coded,
    likely: Float64Array,
    presence: Float64Array,
    now: Float64Array,
    times: float,
    look_up: float,
) -> tuple[Int32Array, float, float]:
    """The schemas worth having for conjunctions of which each costs now[c], what all then costs an event, and how much of
    that is for look-ups.

    Each conjunction stands for `times`. Costs are in candidates, `look_up` being that of a look-up. What was seen in few
    sampled conjunctions is partly chance, and the greedy choice favours it, so it must save the more. Schemas are
    int32[schemas, WIDEST], padded with -1.
    """
    hashes, row, chance, slots = combinations(coded, likely, now)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    starts, order = grouped(group.astype(np.int32), len(first))
    schemas = slots.reshape(-1, WIDEST)[first]
    present = np.where(schemas >= 0, presence[schemas], 1.0)
    price = GATHERED * look_up * (present.prod(axis=1) + LEAD * present.min(axis=1))
    seen = np.diff(starts)
    sure = np.maximum(0.0, 1.0 - 2.0 / np.sqrt(np.maximum(1, seen))) if times > 1.0 else np.ones(len(seen))
    asked = np.divide(price, times * sure, out=np.full(len(price), np.inf), where=sure > 0.0)
    after = now.copy()
    chosen = select(after, starts, row[order], chance[order], asked)
    paid = float(price[chosen].sum())
    return schemas[chosen], times * float(after.sum()) + paid, paid


def by_lead(schemas: Int32Array, presence: Float64Array) -> Schemas:
    """Schemas under the slot of each that fewest events have, of equals the one that is in fewest schemas."""
    slots = len(presence)
    shared = np.bincount(schemas[schemas >= 0], minlength=slots)
    ranked = np.empty(slots + 1, np.int64)
    ranked[np.lexsort((shared, presence))] = np.arange(slots)
    ranked[-1] = slots  # the padding, -1, comes last
    order = np.argsort(ranked[schemas], axis=1, kind="stable")
    schemas = np.take_along_axis(schemas, order, 1)
    schemas = schemas[np.argsort(schemas[:, 0], kind="stable")]
    starts = np.searchsorted(schemas[:, 0], np.arange(slots + 1)).astype(np.int32)
    return Schemas(np.ascontiguousarray(schemas).ravel(), starts)


@kernel
def file_under(
    schemas: Schemas, coded: Coded, likely: Float64Array, cost: Float64Array
) -> tuple[NDArray[np.bool_], UInt64Array]:
    """Which conjunctions are cheapest under a schema, bool[c], and the hash of their values, uint64[c].

    Their cost[c] is lowered, and the equalities hashed become likely 1.0: what is found under the hash has them, but for
    collisions, so they are tested last.
    """
    where = np.full(len(schemas.starts) - 1, -1, np.int32)
    filed, hashes = np.zeros(len(cost), np.bool_), np.zeros(len(cost), np.uint64)
    for c in range(len(cost)):
        for p in range(coded.offsets[c], coded.offsets[c + 1]):
            s = coded.slots[p]
            if is_point(coded, p) and (where[s] < 0 or likely[p] < likely[where[s]]):
                where[s] = p
        best = -1
        for p in range(coded.offsets[c], coded.offsets[c + 1]):
            s = coded.slots[p]
            if where[s] != p:
                continue
            for q in range(schemas.starts[s], schemas.starts[s + 1]):
                probability, whole = 1.0, True
                for at in range(WIDEST * q, WIDEST * (q + 1)):
                    if schemas.slots[at] >= 0:
                        other = where[schemas.slots[at]]
                        whole &= other >= 0
                        probability *= likely[max(0, other)]
                if whole and probability < cost[c]:
                    best, cost[c] = q, probability
        if best >= 0:
            filed[c] = True
            for at in range(WIDEST * best, WIDEST * (best + 1)):
                if schemas.slots[at] >= 0:
                    p = where[schemas.slots[at]]
                    hashes[c] ^= value_hash(coded.slots[p], coded.lo[p])
                    likely[p] = 1.0
        for p in range(coded.offsets[c], coded.offsets[c + 1]):
            where[coded.slots[p]] = -1
    return filed, hashes
