"""Finite domains: the cell of a key, and the cells a row asks for."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.arrays.ordered import cell, float_of
from tamis.candidates.rows import Columns
from tamis.encoding.keys import NUMBER_MAX, NUMBER_MIN, UNKNOWN_STRING
from tamis.predicates.cover import cover

CELLS = 1 << 16  # a domain has this many cells; a cell is not cut


class Domains(NamedTuple):
    """Per attribute: `texts` bool (interned strings instead of numbers), `base` and `scale` float64 of its cells."""

    texts: NDArray[np.bool_]
    base: NDArray[np.float64]
    scale: NDArray[np.float64]


@leaf
def position(d: Domains, attr: int, key: int) -> int:
    """The cell of a key in an attribute's domain. Never decreases with the key, so intervals stay intervals."""
    if d.texts[attr]:
        if key < UNKNOWN_STRING:
            return 0
        return cell(float(key - UNKNOWN_STRING), d.base[attr], d.scale[attr], CELLS)
    if key < NUMBER_MIN:
        return 0
    if key > NUMBER_MAX:
        return CELLS - 1
    return cell(float_of(key), d.base[attr], d.scale[attr], CELLS)


@leaf
def span(c: Columns, d: Domains, row: int, attr: int) -> tuple[int, int]:
    """First and last cell of the interval a row asks of an attribute."""
    lo, hi = cover(attr, c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets)
    return position(d, attr, lo), position(d, attr, hi)
