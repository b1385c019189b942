"""The cheapest access key of each conjunction, and the clusters that keys are.

For each conjunction the cheapest single key is compared with the cheapest pair of keys, as far as classes of pairs (both
values, value and attribute, both attributes) and cells are allowed; `best.py` decides what is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.hashing import pair_hash
from tamis.arrays.jit import kernel, leaf
from tamis.candidates.keyed.coded import BETWEEN, Coded
from tamis.candidates.keyed.schemas import Schemas, UInt64Array, is_point
from tamis.candidates.keyed.triples import group_of, member_hash
from tamis.candidates.keyed.weights import Float64Array, mass
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import ALL, ALL_SET, IN, IN_SET, MISSING
from tamis.predicates.ranks import Ranks

ALWAYS, VALUE, VALUES, CELL, ATTRIBUTE, PAIR, SCHEMA, TRIPLE = range(8)
KINDS = ("always", "value", "values", "cell", "attribute", "pair", "schema", "triple")
LEVELS, FINEST = 3, 2
"""Cells come in up to three sizes, each a quarter of the one before and none smaller than 2^FINEST codes."""
SPREAD = 8
"""A set of at most this many values may be filed under each of them."""
BY_VALUE, BY_ATTRIBUTE, BY_CELL, PAIRED, PAIRED_VALUES, IN_SCHEMA = (1 << bit for bit in range(6))
"""What the keys of a slot are used for."""
TRIPLED = 6
"""In the bits from here on: the group of a slot that triples are made of, or 0."""
CELLS_ALLOWED, WITH_SETS = 8, 4
"""Beside the bits of the classes of pairs: cells may be used; the bits from WITH_SETS on: see `with_sets`."""
MASK = 3
"""In `Keys.plan[2]`, the bits from here on: those in which the slots of a pair of attributes do not differ."""
COMPANY = 1.25
"""Of equalities nearly as unlikely as the least likely, up to this factor, the one that most conjunctions name is taken:
large clusters of similar conjunctions can be tested together."""


class Keys(NamedTuple):
    """Where the clusters of an event's keys are. Cluster 0 is for all events, cluster 1 + s for slot s.

    values int32[s]: the cluster of code 0 of slot s, or -1; cells int32[6 s + 2 level + grid]: the cluster of the first
    cell of a grid; shifts uint8[s]: log2 of the size of its largest cells; levels uint8[s]: which grids are in use, a bit
    each; uses uint8[s]: BY_VALUE to IN_SCHEMA, the kinds of keys in use, a bit each, and the group for TRIPLED;
    paired_values uint8[clusters up to the hashed ones, or 0]: whether the value occurs in pairs. plan int64[4]: the first
    hashed cluster, the bits of the hash, the classes of pairs in use (bit k: pairs with k values) and from MASK on a mask,
    the groups of triples or 0. filter uint8[2^bits, or 0]: a byte per hashed cluster, in which three further bits of the
    hash choose the bit that is set, so that nearly all pairs and schemas nobody asks for are dismissed by one load.
    schemas: whose values are hashed together.
    """

    values: Int32Array
    cells: Int32Array
    shifts: NDArray[np.uint8]
    levels: NDArray[np.uint8]
    uses: NDArray[np.uint8]
    paired_values: NDArray[np.uint8]
    plan: Int64Array
    filter: NDArray[np.uint8]
    schemas: Schemas


class Choice(NamedTuple):
    """The key of each conjunction: kind uint8[c], first/second int32[c] the predicates it rests on (or -1), cost float64[c],
    hashes uint64[c] of the values of its schema, if it has one; third int32[c], or 0 long: the predicate that makes a
    triple of the two."""

    kind: NDArray[np.uint8]
    first: Int32Array
    second: Int32Array
    cost: Float64Array
    hashes: UInt64Array
    third: Int32Array


def with_sets(allowed: int, members: int, groups: int) -> int:
    """What is allowed, and sets of so many attributes of one of so many groups too."""
    return allowed | (8 * members + groups) << WITH_SETS


def sets_of(allowed: int) -> tuple[int, int]:
    """The members and groups given to `with_sets`, or zeros."""
    return divmod(allowed >> WITH_SETS, 8)


@leaf
def largest_shift(codes: int) -> int:
    """log2 of the size of the largest cells of a slot with this many codes; below FINEST there are none."""
    top = -3
    while codes > 0:
        codes >>= 1
        top += 1
    return top


@leaf
def cell_of(shift: int, lo: int, hi: int) -> tuple[int, int, int]:
    """The smallest cell that holds lo..hi, as (2 level + grid, first code, size); -1 if there is none.

    `shift` is that of the largest cells; the second grid of a level is shifted by half a cell.
    """
    for back in range(LEVELS):
        level = LEVELS - 1 - back
        by = shift - 2 * level
        if by < FINEST:
            continue
        for grid in range(2):
            half = grid << (by - 1)
            if (lo + half) >> by == (hi + half) >> by:
                return 2 * level + grid, ((lo + half) >> by << by) - half, 1 << by
    return -1, 0, 0


@leaf
def cell_number(shift: int, bit: int, code: int) -> int:
    """The number of the cell of `code` in the grid `bit` = 2 level + grid."""
    by = shift - (bit & ~1)
    return (code + ((bit & 1) << (by - 1))) >> by


@kernel
def choose(
    coded: Coded,
    bound_starts: Int64Array,
    presence: Float64Array,
    below: Float64Array,
    likely: Float64Array,
    set_starts: Int64Array,
    named: Int32Array,
    allowed: int,
) -> Choice:
    """The cheapest key of every conjunction; `allowed`: a bit per class of pairs, and CELLS_ALLOWED.

    likely float64[p]: P(predicate holds); named int32, like `below`: how many equalities name a code.
    """
    offsets, slots, ops, lo, hi = coded.offsets, coded.slots, coded.ops, coded.lo, coded.hi
    rows = len(coded.owners)
    kind, cost = np.zeros(rows, np.uint8), np.zeros(rows, np.float64)
    first, second = np.full(rows, -1, np.int32), np.full(rows, -1, np.int32)
    for c in range(rows):
        best, chosen, kind_chosen = 1.0, -1, ALWAYS
        one, one_p, other, other_p = -1, 2.0, -1, 2.0
        one_value, other_value = 0, 0
        for p in range(offsets[c], offsets[c + 1]):
            s, op = slots[p], ops[p]
            if op == MISSING:
                continue
            at, codes, present = bound_starts[s] + 3 * s, bound_starts[s + 1] - bound_starts[s] + 2, presence[s]
            probability, found, value = present, ATTRIBUTE, 0
            if (op == IN or op == ALL) and lo[p] == hi[p]:
                probability, found, value = likely[p], VALUE, 1
            elif (op == IN_SET or op == ALL_SET) and set_starts[lo[p] + 1] - set_starts[lo[p]] <= SPREAD:
                probability, found = likely[p], VALUES
            elif allowed & CELLS_ALLOWED and (op == IN or op == ALL or op == BETWEEN) and lo[p] < hi[p]:
                bit, start, size = cell_of(largest_shift(codes), lo[p], hi[p])
                if bit >= 0:
                    inside = mass(below, at, max(0, start), min(codes - 1, start + size - 1))
                    if 2.0 * inside < 1.0:
                        probability, found = present * inside, CELL
            if probability < best:
                best, chosen, kind_chosen = probability, p, found
            paired_p = probability if value else present
            if one >= 0 and slots[one] == s:
                if paired_p < one_p:
                    one, one_p, one_value = p, paired_p, value
            elif paired_p < one_p:
                other, other_p, other_value = one, one_p, one_value
                one, one_p, one_value = p, paired_p, value
            elif paired_p < other_p:
                other, other_p, other_value = p, paired_p, value
        if kind_chosen == VALUE:
            most, limit = 0, COMPANY * best
            for p in range(offsets[c], offsets[c + 1]):
                if (ops[p] == IN or ops[p] == ALL) and lo[p] == hi[p]:
                    at = bound_starts[slots[p]] + 3 * slots[p] + lo[p]
                    if likely[p] <= limit and named[at] > most:
                        most, chosen, best = named[at], p, likely[p]
        kind[c], first[c], cost[c] = kind_chosen, chosen, best
        if other >= 0 and one_p * other_p < best and allowed >> (one_value + other_value) & 1:
            kind[c], first[c], second[c], cost[c] = PAIR, one, other, one_p * other_p
    return Choice(kind, first, second, cost, np.zeros(0, np.uint64), np.zeros(0, np.int32))


@leaf
def count_equalities(coded: Coded, bound_starts: Int64Array, named: Int32Array) -> None:
    """Add to `named` (see `choose`) the equalities of all conjunctions."""
    for p in range(len(coded.slots)):
        if (coded.ops[p] == IN or coded.ops[p] == ALL) and coded.lo[p] == coded.hi[p]:
            named[bound_starts[coded.slots[p]] + 3 * coded.slots[p] + coded.lo[p]] += 1


@leaf
def mark_values(coded: Coded, has_values: NDArray[np.bool_]) -> None:
    """Set has_values[s] for slots of which some predicate asks for values, not for a range."""
    for p in range(len(coded.slots)):
        if is_point(coded, p) or coded.ops[p] == IN_SET or coded.ops[p] == ALL_SET:
            has_values[coded.slots[p]] = True


@kernel
def assign(
    coded: Coded,
    choice: Choice,
    keys: Keys,
    bound_starts: Int64Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
) -> tuple[Int32Array, Int32Array]:
    """(conjunction, cluster) int32 columns, one row per filing; marks in `keys` what is in use."""
    kinds, firsts, lo = choice.kind, choice.first, coded.lo
    total = len(kinds)
    for c in range(len(kinds)):
        if kinds[c] == VALUES:
            number = lo[firsts[c]]
            total += set_starts[number + 1] - set_starts[number] - 1
    rows, clusters = np.empty(total, np.int32), np.empty(total, np.int32)
    fill(coded, choice, keys, bound_starts, set_starts, set_codes, rows, clusters)
    return rows, clusters


@leaf
def fill(
    coded: Coded,
    choice: Choice,
    keys: Keys,
    bound_starts: Int64Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
    rows: Int32Array,
    clusters: Int32Array,
) -> None:
    """The part of `assign` that writes its rows."""
    n = 0
    for c in range(len(coded.owners)):
        kind, p = choice.kind[c], choice.first[c]
        s = coded.slots[p] if p >= 0 else -1
        if kind == VALUES:
            keys.uses[s] |= np.uint8(BY_VALUE)
            for q in range(set_starts[coded.lo[p]], set_starts[coded.lo[p] + 1]):
                rows[n], clusters[n] = c, keys.values[s] + set_codes[q]
                n += 1
            continue
        rows[n] = c
        if kind == ALWAYS:
            clusters[n] = 0
        elif kind == VALUE:
            clusters[n] = keys.values[s] + coded.lo[p]
            keys.uses[s] |= np.uint8(BY_VALUE)
        elif kind == ATTRIBUTE:
            clusters[n] = 1 + s
            keys.uses[s] |= np.uint8(BY_ATTRIBUTE)
        elif kind == CELL:
            bit, _, _ = cell_of(keys.shifts[s], coded.lo[p], coded.hi[p])
            keys.levels[s] |= np.uint8(1 << bit)
            keys.uses[s] |= np.uint8(BY_CELL)
            clusters[n] = keys.cells[2 * LEVELS * s + bit] + cell_number(keys.shifts[s], bit, coded.lo[p])
        else:
            if kind == PAIR:
                mixed = pair_hash(pair_atom(coded, keys, p), pair_atom(coded, keys, choice.second[c]))
            elif kind == TRIPLE:
                mixed = member(coded, keys, p) ^ member(coded, keys, choice.second[c])
                mixed ^= member(coded, keys, choice.third[c])
            else:
                mixed = choice.hashes[c]
            bucket, bit = place(mixed, keys.plan[1])
            clusters[n] = keys.plan[0] + bucket
            keys.filter[bucket] |= np.uint8(1 << bit)
        n += 1


@leaf
def place(mixed: np.uint64, bits: int) -> tuple[int, int]:
    """The cluster of a hash among those of pairs and schemas, and its bit in the filter."""
    bucket, bit = mixed >> np.uint64(64 - bits), (mixed >> np.uint64(61 - bits)) & np.uint64(7)
    return np.int64(bucket), np.int64(bit)  # type: ignore[return-value]


@leaf
def pair_atom(coded: Coded, keys: Keys, p: int) -> int:
    """The single key that predicate p contributes to a pair, marked as in use."""
    s = coded.slots[p]
    if is_point(coded, p):
        atom = keys.values[s] + coded.lo[p]
        keys.paired_values[atom] = 1
        keys.uses[s] |= np.uint8(PAIRED_VALUES)
        return atom
    keys.uses[s] |= np.uint8(PAIRED)
    return 1 + s


@leaf
def member(coded: Coded, keys: Keys, p: int) -> np.uint64:
    """The hash that the slot of predicate p contributes to a triple, marked as in use."""
    s = coded.slots[p]
    keys.uses[s] |= np.uint8(group_of(s, keys.plan[3]) << TRIPLED)
    return member_hash(s)


def key_space(coded: Coded, ranks: Ranks, choice: Choice, allowed: int, schemas: Schemas) -> tuple[Keys, int]:
    """Numbers for all keys that may be used, and how many clusters that makes."""
    slots = len(ranks.attrs)
    codes = np.diff(ranks.starts) + 2
    has_values = np.zeros(slots, np.bool_)
    mark_values(coded, has_values)
    sizes = np.where(has_values, codes, 0)
    values = 1 + slots + np.cumsum(sizes) - sizes
    end = 1 + slots + int(sizes.sum())
    shifts = np.array([largest_shift(int(n)) for n in codes], np.int64)
    with_cells = np.zeros(slots, bool)
    with_cells[coded.slots[choice.first[choice.kind == CELL]]] = True
    sizes_of_cells = shifts[:, None] - 2 * np.arange(LEVELS)
    counts = (codes[:, None] >> np.maximum(sizes_of_cells, 0)) + 2
    counts = np.repeat(np.where(with_cells[:, None] & (sizes_of_cells >= FINEST), counts, 0), 2, axis=1).ravel()
    cells = end + np.cumsum(counts) - counts
    end += int(counts.sum())
    uses = np.zeros(slots, np.uint8)
    uses[schemas.slots[schemas.slots >= 0]] = IN_SCHEMA
    pairs, triples = (int(np.count_nonzero(choice.kind == kind)) for kind in (PAIR, TRIPLE))
    different = pairs + triples + (distinct(choice.hashes[choice.kind == SCHEMA]) if len(schemas.slots) else 0)
    bits = max(4, (2 * different).bit_length()) if pairs or triples or len(schemas.slots) else 0
    members, groups = sets_of(allowed)
    classes = allowed & 7 | (1 | (groups - 1) << MASK if members == 2 else 0)
    keys = Keys(
        np.where(has_values, values, -1).astype(np.int32),
        cells.astype(np.int32),
        np.maximum(shifts, 0).astype(np.uint8),
        np.zeros(slots, np.uint8),
        uses,
        np.zeros(end if allowed & 6 else 0, np.uint8),
        np.array([end, bits, classes if pairs else 0, groups if triples else 0], np.int64),
        np.zeros(1 << bits if bits else 0, np.uint8),
        schemas,
    )
    return keys, end + (1 << bits if bits else 0)


def distinct(hashes: UInt64Array) -> int:
    """About how many different hashes there are: those that do not fall on one another in a table of their own."""
    bits = len(hashes).bit_length() + 1
    used = np.zeros(1 << bits, np.bool_)
    used[hashes >> np.uint64(64 - bits)] = True
    return int(np.count_nonzero(used))
