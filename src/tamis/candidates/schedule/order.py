"""The order of chains for `suborder` (paper 003, sections 4.2.4 and 4.2.5).

Two chains cost differently in their two orders only through the predicates they share. `saving` is that difference; the
chains are strung together greedily over it, Kruskal style. A predicate shared by many chains would give quadratically many
pairs: such a group is sorted by P/C, the chance of reaching the shared node over the cost of getting there, and only
neighbours are paired. Pairs alone do not see how many chains wait for a predicate, so chains whose `worth` (chains decided
per unit of cost) differs by a large factor are kept apart: the strings order those of like worth.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel
from tamis.candidates.schedule.chains import FloatArray, Structure
from tamis.candidates.schedule.run import ANY, TRUE
from tamis.encoding.keys import Int32Array, Int64Array

PAIRED = 16  # a predicate in at most so many chains has all its pairs compared
NOBODY = -1
LIKE = 4.0  # chains of the same power of this in worth are ordered by their strings


@kernel
def chance(p: int, wanted: int, selectivity: FloatArray) -> float:
    """Probability that a node's wish comes true."""
    if wanted == ANY:
        return 1.0
    return float(selectivity[p] if wanted == TRUE else 1 - selectivity[p])


@kernel
def position(chain: int, p: int, first: Int64Array, count: Int32Array, preds: Int32Array) -> int:
    """Where a chain holds predicate p, or -1."""
    for k in range(count[chain]):
        if preds[first[chain] + k] == p:
            return k
    return -1


@kernel
def approach(
    chain: int,
    node: int,
    other: int,
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: NDArray[np.int8],
    selectivity: FloatArray,
    cost: FloatArray,
) -> tuple[float, float]:
    """(P, C') of the `node`-th node of a chain: chance that all nodes above it hold, and what they are expected to cost.

    Nodes that chain `other` holds too are left out of C'; with NOBODY, none is. Reads only.
    """
    reach, alone, spent = 1.0, 1.0, 0.0
    for i in range(first[chain], first[chain] + node):
        holds = chance(preds[i], wanted[i], selectivity)
        reach *= holds
        if other == NOBODY or position(other, preds[i], first, count, preds) < 0:
            spent += alone * cost[preds[i]]
            alone *= holds
    return reach, spent


@kernel
def saving(
    one: int,
    two: int,
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: NDArray[np.int8],
    selectivity: FloatArray,
    cost: FloatArray,
) -> float:
    """Expected cost of deciding `one` before `two`, less that of `two` before `one`: negative if `one` should be first.

    The sum over shared literals l of (1 - p_l)·(P2,l·C'1,l - P1,l·C'2,l). Reads only.
    """
    total = 0.0
    for k in range(count[one]):
        node = first[one] + k
        at = position(two, preds[node], first, count, preds)
        if at < 0 or wanted[first[two] + at] != wanted[node]:
            continue
        reach_one, spent_one = approach(one, k, two, first, count, preds, wanted, selectivity, cost)
        reach_two, spent_two = approach(two, at, one, first, count, preds, wanted, selectivity, cost)
        fails = 1 - chance(preds[node], wanted[node], selectivity)
        total += fails * (reach_two * spent_one - reach_one * spent_two)
    return total


@kernel
def pairs(
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: NDArray[np.int8],
    links: Int32Array,
    head: Int32Array,
    chain_of: Int32Array,
    selectivity: FloatArray,
    cost: FloatArray,
) -> tuple[Int32Array, Int32Array, FloatArray]:
    """Edges (before int32[e], after int32[e], gain float64[e] > 0) between chains that share a predicate; reads only.

    All pairs of a predicate in at most PAIRED chains; of a more popular one the neighbours in descending P/C.
    """
    before, after, gain = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.float64)
    group = np.empty(1024, np.int32)
    n = 0
    for p in range(len(head)):
        size = 0
        node = head[p]
        while node >= 0:
            group = grown(group, size + 1)
            group[size] = chain_of[node]
            size += 1
            node = links[node]
        members, reach = group[:size], size
        if size > PAIRED:
            ratio = np.empty(size)
            for i in range(size):
                at = position(members[i], p, first, count, preds)
                arrives, spent = approach(members[i], at, NOBODY, first, count, preds, wanted, selectivity, cost)
                ratio[i] = -arrives / spent if spent > 0 else -np.inf
            members, reach = members[np.argsort(ratio)], 2
        for i in range(size):
            for j in range(i + 1, min(size, i + reach)):
                w = saving(members[i], members[j], first, count, preds, wanted, selectivity, cost)
                if w != 0.0:
                    before, after, gain = grown(before, n + 1), grown(after, n + 1), grown(gain, n + 1)
                    before[n] = members[i] if w < 0 else members[j]
                    after[n] = members[j] if w < 0 else members[i]
                    gain[n] = abs(w)
                    n += 1
    return before[:n], after[:n], gain[:n]


@kernel
def root(parent: Int32Array, c: int) -> int:
    """The representative of c's set; shortens the way there (mutates parent)."""
    while parent[c] != c:
        parent[c] = parent[parent[c]]
        c = parent[c]
    return c


@kernel
def string_together(
    before: Int32Array, after: Int32Array, gain: FloatArray, by_gain: Int64Array, chains: int
) -> tuple[Int32Array, FloatArray]:
    """Take edges in the order `by_gain` that give no chain a third neighbour and close no cycle.

    Returns neighbours int32[chains, 2] (-1: none) and gains float64[chains, 2]: what the neighbour gains by coming later
    (negative: by coming earlier).
    """
    parent = np.arange(chains).astype(np.int32)
    neighbours = np.full((chains, 2), NOBODY, np.int32)
    gains = np.zeros((chains, 2))
    for e in by_gain:
        u, v = before[e], after[e]
        if neighbours[u, 1] >= 0 or neighbours[v, 1] >= 0:
            continue
        ru, rv = root(parent, u), root(parent, v)
        if ru == rv:
            continue
        parent[ru] = rv
        at_u, at_v = int(neighbours[u, 0] >= 0), int(neighbours[v, 0] >= 0)
        neighbours[u, at_u], gains[u, at_u] = v, gain[e]
        neighbours[v, at_v], gains[v, at_v] = u, -gain[e]
    return neighbours, gains


@kernel
def walk_strings(neighbours: Int32Array, gains: FloatArray, live: Int32Array) -> Int32Array:
    """All live chains (int32), string by string, each string in the direction that saves more; reads only."""
    seen = np.zeros(len(neighbours), np.bool_)
    out = np.empty(len(live), np.int32)
    n = 0
    for c in live:
        if seen[c] or neighbours[c, 1] >= 0:  # begin at an end of a string
            continue
        start, forward = n, 0.0
        previous, current = NOBODY, c
        while current != NOBODY:
            seen[current] = True
            out[n] = current
            n += 1
            side = 1 if previous != NOBODY and neighbours[current, 0] == previous else 0
            forward += gains[current, side]
            previous, current = current, neighbours[current, side]
        if forward < 0:
            out[start:n] = out[start:n][::-1].copy()
    return out


@kernel
def worths(
    live: Int32Array,
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: NDArray[np.int8],
    selectivity: FloatArray,
    cost: FloatArray,
    popularity: Int32Array,
) -> FloatArray:
    """For each chain (float64[chains], 0 where not live) the chains it is expected to decide per unit of its cost."""
    worth = np.zeros(len(first))
    for c in live:
        reach, spent, decided = 1.0, 0.0, 1.0
        for i in range(first[c], first[c] + count[c]):
            holds = chance(preds[i], wanted[i], selectivity)
            spent += reach * cost[preds[i]]
            decided += reach * (1 - holds) * (popularity[preds[i]] - 1)
            reach *= holds
        worth[c] = decided / spent if spent > 0 else np.inf
    return worth


@kernel
def best_place(
    chain: int,
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: NDArray[np.int8],
    links: Int32Array,
    head: Int32Array,
    chain_of: Int32Array,
    selectivity: FloatArray,
    cost: FloatArray,
) -> tuple[int, bool]:
    """(neighbour, whether to come before it): the chain with most to gain from the right order, or -1 without one.

    Looks at no more than PAIRED chains per predicate, the latest ones. Reads only.
    """
    best, best_gain, before = NOBODY, 0.0, False
    for i in range(first[chain], first[chain] + count[chain]):
        node, looked = head[preds[i]], 0
        while node >= 0 and looked < PAIRED:
            other = chain_of[node]
            if other != chain:
                looked += 1
                w = saving(chain, other, first, count, preds, wanted, selectivity, cost)
                if best == NOBODY or abs(w) > best_gain:
                    best, best_gain, before = other, abs(w), w < 0
            node = links[node]
    return best, before


def chain_order(structure: Structure, popularity: Int32Array, selectivity: FloatArray, cost: FloatArray) -> Int32Array:
    """All chains in the order to decide them."""
    first, count, preds, wanted, *_ = structure
    live = np.flatnonzero(count).astype(np.int32)
    before, after, gain = pairs(*structure, selectivity, cost)
    strung = string_together(before, after, gain, np.argsort(-gain, kind="stable"), len(first))
    order = walk_strings(*strung, live)
    worth = worths(live, first, count, preds, wanted, selectivity, cost, popularity)
    return order[np.argsort(-np.floor(np.log(worth[order]) / np.log(LIKE)), kind="stable")]
