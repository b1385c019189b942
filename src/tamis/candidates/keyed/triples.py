"""Access keys over three attributes, for conjunctions that name no value worth a key.

An event with n attributes has n³/6 triples of them, but it need not look up all. Let the attributes fall into g groups, and
file conjunctions only under triples within one group: an event then has about n³/6g² of them, and still every conjunction
with more than 2g attributes has one, because three of these must be in the same group. So g says how long conjunctions must
be, and it is chosen by cost as everything is (`best.py`). What has no triple keeps the key it has.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.hashing import scattered
from tamis.arrays.jit import kernel, leaf
from tamis.candidates.keyed.coded import Coded
from tamis.candidates.keyed.weights import Float64Array
from tamis.encoding.keys import Int32Array
from tamis.encoding.subscriptions import MISSING

MOST_GROUPS = 3
"""Groups there may be: a slot's use keeps its group in two bits."""
MEMBERS = 3
COMPANY = 16.0
"""A triple must be so many times less likely than a value: under the value lie others that an event which has it may match
too, and one cluster of them is sooner read than many of one."""


@leaf
def group_of(slot: int, groups: int) -> int:
    """The group of a slot, from 1 on."""
    return slot % groups + 1


@leaf
def triples_among(count: int) -> int:
    """How many triples there are of so many attributes."""
    return count * (count - 1) * (count - 2) // 6


@leaf
def member_hash(slot: int) -> np.uint64:
    """What a slot contributes to the hash of a triple, which is the exclusive or of three."""
    return scattered(slot + 1)


@leaf
def keep_least(least: Int32Array, at: int, p: int, slots: Int32Array, presence: Float64Array) -> None:
    """Put predicate p among those at least[at:at+3], which have the rarest slots, no slot twice, -1 at the end."""
    for k in range(at, at + MEMBERS):
        if least[k] >= 0 and slots[least[k]] == slots[p]:
            return
    for k in range(at, at + MEMBERS):
        if least[k] < 0:
            least[k] = p
            return
        if presence[slots[p]] < presence[slots[least[k]]]:
            least[k], p = p, least[k]


@kernel
def file_triples(
    coded: Coded,
    presence: Float64Array,
    groups: int,
    by_value: NDArray[np.bool_],
    cost: Float64Array,
    first: Int32Array,
    second: Int32Array,
    third: Int32Array,
) -> NDArray[np.bool_]:
    """Which conjunctions are cheaper under a triple than they are by cost[c], bool[c]; by_value bool[c]: their key is a value.

    Their cost[c] is lowered, and first, second, third int32[c] become the predicates whose slots are the triple.
    """
    filed, least = np.zeros(len(cost), np.bool_), np.empty(MEMBERS * groups, np.int32)
    rarest = presence.min() if len(presence) else 1.0
    for c in range(len(cost)):
        limit = cost[c] / COMPANY if by_value[c] else cost[c]
        if limit <= rarest * rarest * rarest:
            continue
        least[:] = -1
        for p in range(coded.offsets[c], coded.offsets[c + 1]):
            if coded.ops[p] != MISSING:
                at = MEMBERS * (group_of(coded.slots[p], groups) - 1)
                keep_least(least, at, p, coded.slots, presence)
        for at in range(0, len(least), MEMBERS):
            one, other, last = least[at], least[at + 1], least[at + 2]
            if last < 0:
                continue
            probability = presence[coded.slots[one]] * presence[coded.slots[other]] * presence[coded.slots[last]]
            if probability < limit:
                filed[c], limit, cost[c] = True, probability, probability
                first[c], second[c], third[c] = one, other, last
    return filed
