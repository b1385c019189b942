"""Choosing access keys by expected candidates.

An event that carries n attributes looks up each of its single keys but about n²/2 pairs, and cells of every size; so each
class of pairs and cells are used only if the candidates they save cost more than their look-ups. The same holds for sets of
attributes within a group (`triples.py`), tried beside the classes that are best without them, and for each schema of
several attributes (`schemas.py`), which may make the pairs superfluous. Values that come together make pairs and schemas
look less likely than they are, so with a sample of events, ways are compared by what some of these really meet.
"""

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel, leaf
from tamis.candidates.keyed.choose import (
    ALWAYS,
    CELL,
    CELLS_ALLOWED,
    LEVELS,
    PAIR,
    SCHEMA,
    TRIPLE,
    VALUE,
    VALUES,
    Choice,
    cell_of,
    choose,
    count_equalities,
    largest_shift,
    sets_of,
    with_sets,
)
from tamis.candidates.keyed.coded import Coded, taken
from tamis.candidates.keyed.schemas import NO_SCHEMAS, Schemas, best_schemas, by_lead, file_under, is_point
from tamis.candidates.keyed.triples import SETS, file_sets
from tamis.candidates.keyed.verify import code_in_set
from tamis.candidates.keyed.weights import NO_SAMPLE, Float64Array, Sample, Weights
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.predicates.ranks import Ranks, rank

ROW_COST, PROBE_COST, CELL_COST = 15.0, 10.0, 3.0
"""Nanoseconds to reject a candidate, to look up a pair, and to look up a cell; only their ratios matter."""
TRIED, MET = 20_000, 64
"""Conjunctions on which the ways to choose keys are compared, and sampled events that are asked what they meet."""

CROWD = 8.0
"""Where a conjunction has as many others under its triple, they tend to have more in common, and lie better together under
keys that more of them share: there they can be tested together."""


class Found(NamedTuple):
    """What was chosen: the key of every conjunction; the classes of pairs and cells in use, a bit each, and the sets
    of attributes; the schemas; and the candidates an event is expected to meet."""

    choice: Choice
    allowed: int
    schemas: Schemas
    expected: float


def best_keys(
    coded: Coded,
    ranks: Ranks,
    weights: Weights,
    likely: Float64Array,
    sets: tuple[Int64Array, Int32Array],
    sample: Sample = NO_SAMPLE,
    look_up: float = PROBE_COST,
    times: float = 1.0,
) -> Found:
    """The key of every conjunction, under whatever pays for its look-ups.

    likely float64[p]: P(predicate holds); raised to 1.0 where the schema of a conjunction implies it. look_up: nanoseconds
    for a pair or a schema. times: conjunctions that each of these stands for.
    """
    named = np.zeros(len(weights.below), np.int32)
    count_equalities(coded, ranks.starts, named)
    step = max(1, len(coded.owners) // TRIED)
    few, few_likely = taken(coded, likely, np.arange(0, len(coded.owners), step, dtype=np.int32))
    times *= step
    n = weights.pairs
    lookups = (n * (n - 1) / 2, n * (n - 1), n * (n - 1) / 2)
    events = some_events(sample, ranks)

    def chosen(rows: Coded, likely: Float64Array, allowed: int) -> Choice:
        choice = choose(rows, ranks.starts, weights.presence, weights.below, likely, sets[0], named, allowed)
        members, groups = sets_of(allowed)
        if members:
            choice = choice._replace(third=np.full(len(choice.kind) if members == 3 else 0, -1, np.int32))
            by_value = (choice.kind == VALUE) | (choice.kind == VALUES)
            columns = (choice.cost, choice.first, choice.second, choice.third)
            filed = file_sets(rows, weights.presence, members, groups, by_value, *columns)
            choice.kind[filed] = TRIPLE if members == 3 else PAIR
        return choice

    def probes(allowed: int) -> float:
        hashed = sum(lookups[group] for group in range(3) if allowed >> group & 1)
        members, groups = sets_of(allowed)
        if members == 2:
            hashed += n * (n - 1) / (2 * groups)
        elif members == 3:
            hashed += max(0.0, n * (n - 1) * (n - 2)) / (6 * groups**2)
        return hashed * look_up + (2 * LEVELS * n * CELL_COST if allowed & CELLS_ALLOWED else 0.0)

    def candidates(choice: Choice, likely: Float64Array) -> float:
        if len(events[0]) == 1:
            return times * float(choice.cost.sum())
        return times * meet(few, ranks.starts, choice, likely, *events, *sets)

    met, prices, costs = {}, {}, {}

    def consider(allowed: int) -> None:
        choice = chosen(few, few_likely, allowed)
        if times * alike(few, choice) >= CROWD:
            return
        met[allowed] = candidates(choice, few_likely)
        prices[allowed] = probes(allowed) + ROW_COST * met[allowed]
        costs[allowed] = choice.cost

    for allowed in range(2 * CELLS_ALLOWED):
        consider(allowed)
    best = min(prices, key=lambda way: prices[way])
    for members, groups in SETS:
        allowed = with_sets(best & ~1, members, groups)  # instead of all pairs of attributes
        if probes(allowed) < prices[best]:
            consider(allowed)
    ways = {}
    # schemas beside what is best without them, or beside no pairs
    for some in (list(prices), [0, CELLS_ALLOWED]):
        allowed = min(some, key=lambda way: prices[way])
        if allowed not in ways:
            now = costs[allowed]
            ways[allowed] = best_schemas(few, few_likely, weights.presence, now, times, look_up / ROW_COST)
    plain = min(ways, key=lambda way: prices[way])
    allowed = min(ways, key=lambda way: probes(way) + ROW_COST * ways[way][1])
    slots, _, paid = ways[allowed]
    schemas = by_lead(slots, weights.presence)
    if len(slots):
        choice = filed_under(schemas, few, few_likely, chosen(few, few_likely, allowed))
        expected = candidates(choice, few_likely)
        if probes(allowed) + ROW_COST * (expected + paid) < prices[plain]:
            choice = filed_under(schemas, coded, likely, chosen(coded, likely, allowed))
            return Found(choice, allowed, schemas, expected)
    return Found(chosen(coded, likely, plain), plain, by_lead(NO_SCHEMAS, weights.presence), met[plain])


def alike(coded: Coded, choice: Choice) -> float:
    """How many others a conjunction under a triple finds there on average."""
    rows = np.flatnonzero(choice.kind == TRIPLE)
    if len(rows) == 0:
        return 0.0
    members = np.sort([coded.slots[column[rows]] for column in (choice.first, choice.second, choice.third)], axis=0)
    _, counts = np.unique(members, axis=1, return_counts=True)
    return float((counts * (counts - 1)).sum() / len(rows))


def filed_under(schemas: Schemas, coded: Coded, likely: Float64Array, choice: Choice) -> Choice:
    """The choice with conjunctions under schemas where that is cheaper; raises `likely` to 1.0 where a schema implies it."""
    filed, hashes = file_under(schemas, coded, likely, choice.cost)
    choice.kind[filed] = SCHEMA
    return choice._replace(hashes=hashes)


def some_events(sample: Sample, ranks: Ranks) -> tuple[Int64Array, Int32Array, Int32Array]:
    """Some of the sampled events, evenly chosen: offsets, slots (-1: nobody asks) and codes of their pairs."""
    which = np.arange(0, sample.events, max(1, -(-sample.events // MET)))
    sizes = np.diff(sample.offsets)[which]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    at = np.repeat(sample.offsets[which] - offsets[:-1], sizes) + np.arange(offsets[-1])
    attrs, keys = sample.attrs[at], sample.keys[at]
    slots, codes = np.full(len(attrs), -1, np.int32), np.zeros(len(attrs), np.int32)
    rank_pairs(attrs, keys, ranks, slots, codes)
    return offsets, slots, codes


@leaf
def rank_pairs(attrs: Int32Array, keys: Int64Array, ranks: Ranks, slots: Int32Array, codes: Int32Array) -> None:
    """Fill the slots (-1 before) and codes of pairs with an attribute that somebody asks about."""
    for i in range(len(attrs)):
        s = ranks.slots[attrs[i]] if attrs[i] < len(ranks.slots) else -1
        if s >= 0:
            slots[i], codes[i] = s, rank(ranks.bounds, ranks.starts[s], ranks.starts[s + 1], keys[i])


@kernel
def meet(
    coded: Coded,
    bound_starts: Int64Array,
    choice: Choice,
    likely: Float64Array,
    offsets: Int64Array,
    event_slots: Int32Array,
    event_codes: Int32Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
) -> float:
    """How many conjunctions an event meets under their keys, on average over the events given."""
    event, total = np.zeros(len(bound_starts) - 1, np.int32), 0
    for e in range(len(offsets) - 1):
        for i in range(offsets[e], offsets[e + 1]):
            if event_slots[i] >= 0:
                event[event_slots[i]] = event_codes[i]
        for c in range(len(coded.owners)):
            if meets(coded, bound_starts, choice, likely, c, event, set_starts, set_codes):
                total += 1
        for i in range(offsets[e], offsets[e + 1]):
            if event_slots[i] >= 0:
                event[event_slots[i]] = 0
    return total / max(1, len(offsets) - 1)


@leaf
def meets(
    coded: Coded,
    bound_starts: Int64Array,
    choice: Choice,
    likely: Float64Array,
    c: int,
    event: Int32Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
) -> bool:
    """Whether an event (int32[slots], its codes, 0: absent) has the key of conjunction c."""
    kind, p = choice.kind[c], choice.first[c]
    if kind == ALWAYS:
        return True
    if kind == SCHEMA:
        for q in range(coded.offsets[c], coded.offsets[c + 1]):
            if is_point(coded, q) and likely[q] == 1.0 and event[coded.slots[q]] != coded.lo[q]:
                return False
        return True
    if kind == PAIR:
        return has_atom(coded, p, event) and has_atom(coded, choice.second[c], event)
    if kind == TRIPLE:
        other, last = event[coded.slots[choice.second[c]]], event[coded.slots[choice.third[c]]]
        return event[coded.slots[p]] > 0 and other > 0 and last > 0
    s = coded.slots[p]
    code = event[s]
    if kind == VALUES:
        return code_in_set(set_codes, set_starts[coded.lo[p]], set_starts[coded.lo[p] + 1], code)
    if kind == CELL:
        _, first, size = cell_of(largest_shift(bound_starts[s + 1] - bound_starts[s] + 2), coded.lo[p], coded.hi[p])
        return code > 0 and first <= code < first + size
    return code == coded.lo[p] if kind == VALUE else code > 0


@leaf
def has_atom(coded: Coded, p: int, event: Int32Array) -> bool:
    """Whether an event has the value or attribute that predicate p contributes to a pair."""
    code = event[coded.slots[p]]
    return code == coded.lo[p] if is_point(coded, p) else code > 0
