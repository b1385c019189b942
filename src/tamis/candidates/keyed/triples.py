"""Access keys over two or three attributes, for conjunctions that name no value worth a key.

An event with n attributes has n²/2 pairs and n³/6 triples of them, but it need not look up all. Let the attributes fall into g
groups, and file conjunctions only under sets within one group: an event then has about n²/2g pairs and n³/6g² triples of that
kind, and still every conjunction with more than g (for triples, 2g) attributes has one, because two (three) of these must be
in the same group. So g says how long conjunctions must be, and it is chosen by cost as everything is (`best.py`). What has no
such set keeps the key it has.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.hashing import scattered
from tamis.arrays.jit import kernel, leaf
from tamis.candidates.keyed.coded import Coded
from tamis.candidates.keyed.schemas import is_point
from tamis.candidates.keyed.weights import Float64Array
from tamis.encoding.keys import Int32Array
from tamis.encoding.subscriptions import MISSING

SETS = ((2, 2), (2, 4), (3, 1), (3, 2), (3, 3))
"""Members of a set and groups of attributes that may be used. For pairs the groups are a power of two, so that a mask tells
whether two slots are in one; the group of a slot that triples are made of is kept in two bits."""
COMPANY = 16.0
"""A set must be so many times less likely than a value: under the value lie others that an event which has it may match
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
def keep_least(least: Int32Array, at: int, members: int, p: int, slots: Int32Array, presence: Float64Array) -> None:
    """Put predicate p among those at least[at:at+members], which have the rarest slots, no slot twice, -1 at the end."""
    for k in range(at, at + members):
        if least[k] >= 0 and slots[least[k]] == slots[p]:
            return
    for k in range(at, at + members):
        if least[k] < 0:
            least[k] = p
            return
        if presence[slots[p]] < presence[slots[least[k]]]:
            least[k], p = p, least[k]


@kernel
def file_sets(
    coded: Coded,
    presence: Float64Array,
    members: int,
    groups: int,
    by_value: NDArray[np.bool_],
    cost: Float64Array,
    first: Int32Array,
    second: Int32Array,
    third: Int32Array,
) -> NDArray[np.bool_]:
    """Which conjunctions are cheaper under two or three attributes than they are by cost[c], bool[c]; by_value bool[c]: their
    key is a value.

    Their cost[c] is lowered, and first, second and, for three members, third int32[c] become the predicates whose slots are
    the set.
    """
    filed, least = np.zeros(len(cost), np.bool_), np.empty(members * groups, np.int32)
    floor = (presence.min() if len(presence) else 1.0) ** members
    for c in range(len(cost)):
        limit = cost[c] / COMPANY if by_value[c] else cost[c]
        if limit <= floor:
            continue
        least[:] = -1
        for p in range(coded.offsets[c], coded.offsets[c + 1]):
            if coded.ops[p] == MISSING or (members == 2 and is_point(coded, p)):
                continue  # in a pair, an equality stands for its value
            at = members * (group_of(coded.slots[p], groups) - 1)
            keep_least(least, at, members, p, coded.slots, presence)
        for at in range(0, len(least), members):
            if least[at + members - 1] < 0:
                continue
            probability = 1.0
            for k in range(at, at + members):
                probability *= presence[coded.slots[least[k]]]
            if probability < limit:
                filed[c], limit, cost[c] = True, probability, probability
                first[c], second[c] = least[at], least[at + 1]
                if members > 2:
                    third[c] = least[at + 2]
    return filed
