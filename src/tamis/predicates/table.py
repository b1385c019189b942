"""Predicate tables for finite domains (TOPSS, section 3.2): per attribute one array for each operator, indexed by value.

Inserting, deleting and looking up are one store or load. An event value v satisfies `=` at [v], `!=` everywhere but [v],
`<` behind v, `>` before v: every satisfied predicate of the attribute is read from contiguous slices. Whole numbers
are placed by arithmetic; members of an enum and booleans by their rank among the domain's keys, where only `=` and
`!=` have cells. What has no cell (fractions, intervals, other codes) is left to other indexes.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import leaf
from tamis.encoding.keys import FOLD, NUMBER_MAX, NUMBER_MIN, Int32Array, Int64Array
from tamis.encoding.subscriptions import IN, OUT

EQ, NE, LT, LE, GT, GE = 0, 1, 2, 3, 4, 5
OPERATORS = 6


class Tables(NamedTuple):
    """Attribute a, if base[a] >= 0, has cells[base[a] + operator * width[a] + place] (int32 predicate ids, -1: none).

    base/low int64 and width int32 by attribute; ranks int64 by attribute: start of the domain's ascending keys in `keys`,
    or -1 when a place is a whole number minus low[a]. filled int32[attributes, OPERATORS]: predicates in each array.
    """

    base: Int64Array
    low: Int64Array
    width: Int32Array
    ranks: Int64Array
    cells: Int32Array
    keys: Int64Array
    filled: Int32Array


class Domain(NamedTuple):
    """A finite domain: whole numbers low … low + width - 1, or the given ascending keys (then low is 0)."""

    low: int
    width: int
    keys: Int64Array | None = None


def lay_out(domains: Sequence[Domain | None]) -> Tables:
    """Empty tables for the attributes that have a domain."""
    n = len(domains)
    base, low, ranks = np.full(n, -1, np.int64), np.zeros(n, np.int64), np.full(n, -1, np.int64)
    width = np.zeros(n, np.int32)
    cells, keys, known = 0, [np.zeros(0, np.int64)], 0
    for a, domain in enumerate(domains):
        if domain is None:
            continue
        base[a], low[a], width[a] = cells, domain.low, domain.width
        cells += OPERATORS * domain.width
        if domain.keys is not None:
            ranks[a] = known
            keys.append(domain.keys)
            known += domain.width
    filled = np.zeros((n, OPERATORS), np.int32)
    return Tables(base, low, width, ranks, np.full(cells, -1, np.int32), np.concatenate(keys), filled)


def nbytes(t: Tables) -> int:
    """Bytes of all arrays."""
    return sum(array.nbytes for array in t)


@leaf
def number_of(key: int) -> float:
    """The number behind a number key."""
    return np.int64(key ^ ((key >> 63) & FOLD)).view(np.float64)


@leaf
def whole(key: int) -> bool:
    """Whether a key stands for a whole number small enough to be exact; -1 is the unused key of negative zero."""
    if not NUMBER_MIN <= key <= NUMBER_MAX or key == -1:
        return False
    x = number_of(key)
    return -9007199254740992.0 < x < 9007199254740992.0 and math.floor(x) == x


@leaf
def place_of(t: Tables, a: int, key: int) -> int:
    """The place of a constant in attribute a's domain, or -1."""
    if t.ranks[a] >= 0:
        lo, hi = t.ranks[a], t.ranks[a] + t.width[a]
        while lo < hi:
            middle = (lo + hi) >> 1
            if t.keys[middle] < key:
                lo = middle + 1
            else:
                hi = middle
        return lo - t.ranks[a] if lo < t.ranks[a] + t.width[a] and t.keys[lo] == key else -1
    if not whole(key):
        return -1
    place = np.int64(number_of(key)) - t.low[a]
    return place if 0 <= place < t.width[a] else -1


@leaf
def operator_of(op: int, lo: int, hi: int) -> tuple[int, int]:
    """A predicate as (operator, key of its constant), or (-1, 0) when no operator of the table says it.

    `a < x` arrives as an interval ending one key before x, `a > x` as one starting one key behind.
    """
    if lo == hi and (op == IN or op == OUT):
        return (EQ if op == IN else NE), lo
    if op == IN and lo == NUMBER_MIN and hi < NUMBER_MAX:
        return (LE, hi) if whole(hi) else (LT, hi + 1)
    if op == IN and hi == NUMBER_MAX and lo > NUMBER_MIN:
        return (GE, lo) if whole(lo) else (GT, lo - 1)
    return -1, 0


@leaf
def cell_of(t: Tables, a: int, op: int, lo: int, hi: int) -> int:
    """The cell of a predicate, or -1 when it has none."""
    if a >= len(t.base) or t.base[a] < 0:
        return -1
    operator, key = operator_of(op, lo, hi)
    if operator < 0 or (operator > NE and t.ranks[a] >= 0):
        return -1
    place = place_of(t, a, key)
    return -1 if place < 0 else t.base[a] + operator * t.width[a] + place


@leaf
def write_cell(t: Tables, a: int, cell: int, predicate: int) -> None:
    """Enter a predicate in a cell of attribute a, or with -1 take out the one that is there."""
    t.cells[cell] = predicate
    t.filled[a, (cell - t.base[a]) // t.width[a]] += 1 if predicate >= 0 else -1


@leaf
def slices(t: Tables, a: int, key: int, out: Int64Array) -> None:
    """The parts of the table that an event value satisfies: cells out[2i]:out[2i+1] for the operators in order.

    `!=` gets two parts, before and behind the value, in out[2:4] and out[12:14]; out is int64[14]. Arrays without any
    predicate are left out.
    """
    base, width = t.base[a], np.int64(t.width[a])
    out[:] = 0
    if t.ranks[a] >= 0 or not NUMBER_MIN <= key <= NUMBER_MAX:
        place = place_of(t, a, key)
        down = up = place
    else:
        x = min(max(number_of(key), -9.1e15), 9.1e15)
        down, up = np.int64(math.floor(x)) - t.low[a], np.int64(math.ceil(x)) - t.low[a]
        place = down if down == up and 0 <= down < width else -1
        behind, at_or_behind = min(max(down + 1, 0), width), min(max(up, 0), width)
        out[4], out[5] = base + LT * width + behind, base + LT * width + width
        out[6], out[7] = base + LE * width + at_or_behind, base + LE * width + width
        out[8], out[9] = base + GT * width, base + GT * width + at_or_behind
        out[10], out[11] = base + GE * width, base + GE * width + behind
    if place >= 0:
        out[0], out[1] = base + place, base + place + 1
        out[2], out[3] = base + NE * width, base + NE * width + place
        out[12], out[13] = base + NE * width + place + 1, base + NE * width + width
    else:
        out[2], out[3] = base + NE * width, base + NE * width + width
    for operator in range(OPERATORS):
        if t.filled[a, operator] == 0:
            out[2 * operator + 1] = out[2 * operator]
    if t.filled[a, NE] == 0:
        out[13] = out[12]
