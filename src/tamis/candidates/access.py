"""Which access predicate a conjunction should have, and which tables of access predicates are worth having.

A *schema* is a set of attributes; its table holds access predicates with just these attributes. Checking a conjunction under
access predicate p costs chance(p) times what is left to test. Chances of single predicates are given; those of
several are taken as independent. All attributes of a schema ascend; rows of schema arrays are padded with -1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.slots import mix
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import IN

EQUALITIES = 8  # of a conjunction, so many (the least likely) are combined into candidate schemas


class Population(NamedTuple):
    """Conjunctions and their predicates: start int64 and size int32 by conjunction into `cells` (int32 predicate ids); by
    predicate id attr int32, op uint8, lo/hi int64 and chance float64, the share of events that satisfy it."""

    start: Int64Array
    size: Int32Array
    cells: Int32Array
    attr: Int32Array
    op: NDArray[np.uint8]
    lo: Int64Array
    hi: Int64Array
    chance: NDArray[np.float64]


@leaf
def equalities(x: Population, conjunction: int, out: Int32Array) -> int:
    """Write the equality predicates of a conjunction to `out`, ascending by attribute, of each attribute the least likely.

    At most len(out) are kept: the least likely. Returns how many there are.
    """
    n = 0
    for at in range(x.start[conjunction], x.start[conjunction] + x.size[conjunction]):
        p = x.cells[at]
        if x.op[p] != IN or x.lo[p] != x.hi[p]:
            continue
        worst, same = 0, -1
        for i in range(n):
            if x.attr[out[i]] == x.attr[p]:
                same = i
            if x.chance[out[i]] > x.chance[out[worst]]:
                worst = i
        if same >= 0 or n == len(out):
            drop = same if same >= 0 else worst
            if x.chance[p] >= x.chance[out[drop]]:
                continue
            n -= 1
            for i in range(drop, n):
                out[i] = out[i + 1]
        i = n
        while i > 0 and x.attr[out[i - 1]] > x.attr[p]:
            out[i] = out[i - 1]
            i -= 1
        out[i] = p
        n += 1
    return n


@leaf
def under_schema(x: Population, equal: Int32Array, n: int, schema: Int32Array, keys: Int32Array) -> float:
    """The chance of the conjunction's access predicate with the schema's attributes, written to `keys`; 2.0 if it has none."""
    keys[:] = -1
    chance, i = 1.0, 0
    for k in range(len(schema)):
        if schema[k] < 0:
            break
        while i < n and x.attr[equal[i]] < schema[k]:
            i += 1
        if i == n or x.attr[equal[i]] != schema[k]:
            return 2.0
        keys[k] = equal[i]
        chance *= x.chance[equal[i]]
    return chance


@kernel
def choose(
    x: Population, ids: Int32Array, schemas: Int32Array, arity: Int32Array
) -> tuple[Int32Array, Int32Array, NDArray[np.float64], NDArray[np.float64]]:
    """For each conjunction the access predicate that is cheapest to check, over single attributes and all live schemas.

    schemas int32[t, WIDEST] and arity int32[t] (0: not live), numbered from 1. Returns (keys int32[n, WIDEST], table
    int32[n] with 0 for single attributes and for none, chance float64[n], cost float64[n]).
    """
    n, widest = len(ids), schemas.shape[1]
    keys, table = np.full((n, widest), -1, np.int32), np.zeros(n, np.int32)
    chances, costs = np.ones(n, np.float64), np.empty(n, np.float64)
    equal, trial = np.empty(64, np.int32), np.empty(widest, np.int32)
    for i in range(n):
        size = x.size[ids[i]]
        costs[i] = size
        count = equalities(x, ids[i], equal)
        for j in range(count):
            cost = x.chance[equal[j]] * (size - 1)
            if cost < costs[i] or keys[i, 0] < 0:
                costs[i], chances[i], keys[i, 0] = cost, x.chance[equal[j]], equal[j]
        for t in range(1, len(arity)):
            if 0 < arity[t] <= count:
                chance = under_schema(x, equal, count, schemas[t], trial)
                if chance * (size - arity[t]) < costs[i] and chance <= 1.0:
                    costs[i], chances[i], table[i] = chance * (size - arity[t]), chance, t
                    keys[i] = trial
    return keys, table, chances, costs


@kernel
def lightest(x: Population, ids: Int32Array, widest: int, load: Int64Array) -> tuple[Int32Array, NDArray[np.float64]]:
    """For each conjunction the equality predicate that leads to fewest conjunctions so far: (keys, chance) as `choose`.

    `load` int64 by predicate id is kept up to date on the way.
    """
    keys, chances = np.full((len(ids), widest), -1, np.int32), np.ones(len(ids), np.float64)
    equal = np.empty(64, np.int32)
    for i in range(len(ids)):
        count = equalities(x, ids[i], equal)
        for j in range(count):
            if keys[i, 0] < 0 or load[equal[j]] < load[keys[i, 0]]:
                keys[i, 0] = equal[j]
        if count > 0:
            load[keys[i, 0]] += 1
            chances[i] = x.chance[keys[i, 0]]
    return keys, chances


@kernel
def gains(
    x: Population, ids: Int32Array, now: NDArray[np.float64], widest: int, columns: int, by_cells: bool
) -> tuple[Int32Array, NDArray[np.float64], Int64Array]:
    """What each possible schema would save, alone, on conjunctions whose present cost is now[i].

    Cost is the chance of the access predicate, times the predicates left to test if `by_cells`. Schemas are all groups of 2
    to `widest` attributes among a conjunction's equalities. Returns (schemas int32[s, columns], gain float64[s], takers
    int64[s]: conjunctions that gain).
    """
    capacity = 1024
    slots = np.full(capacity, -1, np.int32)
    schemas, s = np.full((256, columns), -1, np.int32), 0
    gain, takers = np.zeros(256, np.float64), np.zeros(256, np.int64)
    equal, group = np.empty(EQUALITIES, np.int32), np.empty(columns, np.int32)
    for i in range(len(ids)):
        count = equalities(x, ids[i], equal)
        for mask in range(1 << count):
            chance, k, h = 1.0, 0, 0
            for j in range(count):
                if mask >> j & 1:
                    if k < widest:
                        group[k] = x.attr[equal[j]]
                        h = mix(h, x.attr[equal[j]])
                    chance *= x.chance[equal[j]]
                    k += 1
            if k < 2 or k > widest:
                continue
            saved = now[i] - chance * (x.size[ids[i]] - k if by_cells else 1)
            if saved <= 0.0:
                continue
            group[k:] = -1
            slot = h & (capacity - 1)
            while slots[slot] >= 0 and not np.array_equal(schemas[slots[slot]], group):
                slot = (slot + 1) & (capacity - 1)
            if slots[slot] < 0:
                if s == len(gain):
                    longer = np.full((2 * s, columns), -1, np.int32)
                    longer[:s] = schemas
                    schemas, gain, takers = longer, grown(gain, 2 * s), grown(takers, 2 * s)
                slots[slot] = s
                schemas[s] = group
                gain[s], takers[s] = 0.0, 0
                s += 1
            gain[slots[slot]] += saved
            takers[slots[slot]] += 1
            if 2 * s > capacity:
                capacity *= 4
                slots = np.full(capacity, -1, np.int32)
                for known in range(s):
                    h = 0
                    for j in range(columns):
                        if schemas[known, j] >= 0:
                            h = mix(h, schemas[known, j])
                    slot = h & (capacity - 1)
                    while slots[slot] >= 0:
                        slot = (slot + 1) & (capacity - 1)
                    slots[slot] = known
    return schemas[:s].copy(), gain[:s].copy(), takers[:s].copy()


@kernel
def adopt(
    x: Population,
    ids: Int32Array,
    cost: NDArray[np.float64],
    fixed: Int32Array,
    schema: Int32Array,
    arity: int,
    keep: bool,
) -> tuple[float, int, int]:
    """What a further schema saves where cost[i] and fixed[i] (predicates its access predicate has) are known.

    Returns (cost saved, cells saved, access predicates it would hold); writes the improved cost and fixed if `keep`.
    """
    capacity = 1024
    while capacity < 2 * len(ids):
        capacity *= 2
    seen, distinct = np.zeros(capacity, np.int64), 0
    equal, keys = np.empty(64, np.int32), np.empty(len(schema), np.int32)
    gain, cells = 0.0, 0
    for i in range(len(ids)):
        count = equalities(x, ids[i], equal)
        if count < arity:
            continue
        chance = under_schema(x, equal, count, schema, keys)
        saved = cost[i] - chance * (x.size[ids[i]] - arity)
        if chance > 1.0 or saved <= 0.0:
            continue
        gain += saved
        cells += arity - fixed[i]
        h = 0
        for k in range(arity):
            h = mix(h, keys[k])
        slot = h & (capacity - 1)
        while seen[slot] != 0 and seen[slot] != h:
            slot = (slot + 1) & (capacity - 1)
        if seen[slot] == 0:
            seen[slot] = h
            distinct += 1
        if keep:
            cost[i] -= saved
            fixed[i] = arity
    return gain, cells, distinct
