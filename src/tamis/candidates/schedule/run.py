"""One event's walk over the chains: propose a predicate, learn its truth, decide chains, until none is undecided.

The walk is resumable: `advance` hands out the next predicate to evaluate or the next complete chain, `settle` takes the
truth. Real operators are run between the two calls; `count_evaluations` does the same inside one kernel for truth tables.
The three rules differ in what they pick and when they stop (paper 003, sections 4.1, 4.2.2 and 5.2):

- NAIVE: chain after chain, predicates in the order written, with a memo; a false predicate decides only this chain.
- SEQUENTIAL: any undecided chain, *all* its predicates that some undecided chain needs (Algorithm 1, at most d times the
  optimum); a false predicate decides every chain that holds it.
- SUBORDER: chains in plan order, most selective predicate first; a false predicate stops the chain and decides all others.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.encoding.keys import Int32Array, Int64Array

Int8Array: TypeAlias = NDArray[np.int8]
BoolArray: TypeAlias = NDArray[np.bool_]

NAIVE, SEQUENTIAL, SUBORDER = 0, 1, 2
UNSEEN, FALSE, TRUE, UNKNOWN = -1, 0, 1, 2  # truth of a predicate; UNKNOWN satisfies nobody
ANY = 2  # what a node may want besides FALSE and TRUE: an answer, whichever
DONE = -1  # of `advance`; a complete chain c is COMPLETE - c
COMPLETE = -2


@kernel
def advance(
    rule: int,
    order: Int32Array,
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: Int8Array,
    links: Int32Array,
    head: Int32Array,
    chain_of: Int32Array,
    truth: Int8Array,
    undecided: BoolArray,
    cursor: Int64Array,
) -> int:
    """The next predicate to evaluate (>= 0), `COMPLETE - chain` when all literals of a chain hold, or DONE.

    order int32[s]: the chains to decide, in turn. Chain c has nodes first[c] : first[c]+count[c]; node i wants predicate
    preds[i] to be wanted[i]. links/head thread the nodes of one predicate. Mutates undecided and cursor int64[3]
    (position in `order`, node within the chain, whether the chain is being walked); truth int8[predicates] is only read.
    """
    while cursor[0] < len(order):
        c = order[cursor[0]]
        if not cursor[2]:
            if not undecided[c]:
                cursor[0] += 1
                continue
            cursor[2] = 1
        while cursor[1] < count[c]:
            node = first[c] + cursor[1]
            p = preds[node]
            if truth[p] == UNSEEN:
                if undecided[c] or is_needed(head[p], links, chain_of, undecided):
                    return int(p)
            elif not fits(wanted[node], truth[p]):
                undecided[c] = False
                if rule != SEQUENTIAL:
                    break
            cursor[1] += 1
            if rule == SUBORDER and not undecided[c]:
                break
        cursor[0] += 1
        cursor[1] = cursor[2] = 0
        if undecided[c]:
            undecided[c] = False
            return int(COMPLETE - c)
    return DONE


@kernel
def fits(wanted: int, outcome: int) -> bool:
    """Whether an outcome leaves a chain undecided whose node wants `wanted`."""
    return outcome == wanted or (wanted == ANY and outcome != UNKNOWN)


@kernel
def is_needed(node: int, links: Int32Array, chain_of: Int32Array, undecided: BoolArray) -> bool:
    """Whether some undecided chain holds the predicate whose first node is given; reads only."""
    while node >= 0:
        if undecided[chain_of[node]]:
            return True
        node = links[node]
    return False


@kernel
def settle(
    rule: int,
    predicate: int,
    outcome: int,
    wanted: Int8Array,
    links: Int32Array,
    head: Int32Array,
    chain_of: Int32Array,
    truth: Int8Array,
    undecided: BoolArray,
) -> None:
    """Record what a predicate came to and, unless the rule is NAIVE, decide every chain it contradicts.

    Mutates truth int8[predicates] and undecided bool[chains].
    """
    truth[predicate] = outcome
    if rule == NAIVE:
        return
    node = head[predicate]
    while node >= 0:
        if not fits(wanted[node], outcome):
            undecided[chain_of[node]] = False
        node = links[node]


@kernel
def count_evaluations(
    rule: int,
    order: Int32Array,
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: Int8Array,
    links: Int32Array,
    head: Int32Array,
    chain_of: Int32Array,
    table: Int8Array,
    evaluated: Int64Array,
    matched: BoolArray,
) -> None:
    """Run the walk for every row of a truth table int8[events, predicates].

    Writes evaluated int64[events] (how many predicates were evaluated) and matched bool[events, chains].
    """
    undecided = np.empty(len(first), np.bool_)
    truth = np.empty(table.shape[1], np.int8)
    cursor = np.empty(3, np.int64)
    for e in range(len(table)):
        truth[:] = UNSEEN
        undecided[:] = False
        undecided[order] = True
        cursor[:] = 0
        evaluated[e] = 0
        while True:
            step = advance(rule, order, first, count, preds, wanted, links, head, chain_of, truth, undecided, cursor)
            if step == DONE:
                break
            if step >= 0:
                evaluated[e] += 1
                settle(rule, step, table[e, step], wanted, links, head, chain_of, truth, undecided)
            else:
                matched[e, COMPLETE - step] = True
