"""Literals: the ones and zeros of a row, in the cyclic order of a tree that leaves one block of properties out."""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel, leaf
from tamis.candidates.rows import Columns
from tamis.encoding.keys import KEY_MAX, KEY_MIN, Int32Array
from tamis.encoding.subscriptions import IN, MISSING


@leaf
def literal(c: Columns, row: int, i: int) -> int:
    """The i-th literal of a row: its leading predicates are one per attribute, ascending."""
    p = c.first[row] + i
    return 2 * c.attrs[p] + (c.ops[p] != MISSING)


@leaf
def sequence(c: Columns, row: int, count: int, lo: int, hi: int) -> tuple[int, int]:
    """(first, length) of the row's literals in cyclic order after the block of properties lo:hi, which is left out."""
    below = inside = 0
    for i in range(count):
        a = c.attrs[c.first[row] + i]
        below += a < lo
        inside += lo <= a < hi
    return below + inside, count - inside


@leaf
def cyclic(c: Columns, row: int, count: int, first: int, i: int) -> int:
    """Literal i of the sequence that starts at literal `first`."""
    at = first + i
    return literal(c, row, at - count if at >= count else at)


@leaf
def block(tree: int, t: int, k: int) -> tuple[int, int]:
    """Properties lo:hi of the block that tree (t, j) leaves out; `tree` is its index in the forest."""
    j = tree - t * (t + 1) // 2
    return j * k // (t + 1), (j + 1) * k // (t + 1)


@leaf
def belongs(c: Columns, row: int, count: int, t: int, light: int, lo: int, hi: int, k: int) -> bool:
    """Whether a row stands in tree (t, block lo:hi); t = light + 1 means the last tree."""
    ones = 0
    for p in range(c.first[row], c.first[row] + count):
        if c.ops[p] != MISSING:
            ones += 1
            if lo <= c.attrs[p] < hi:
                return False
    stars_and_ones = k - (count - ones)
    return stars_and_ones > light if t > light else ones <= t <= stars_and_ones


@kernel
def pure(c: Columns, rows: Int32Array, native: NDArray[np.bool_]) -> None:
    """Mark the rows that ask for presence and absence only: reaching them is matching them. Mutates native bool[rows]."""
    for row in rows:
        native[row] = True
        for p in range(c.first[row], c.last[row]):
            if c.ops[p] != MISSING and not (c.ops[p] == IN and c.lo[p] == KEY_MIN and c.hi[p] == KEY_MAX):
                native[row] = False


@leaf
def satisfied(c: Columns, leading: Int32Array, row: int, end: Int32Array) -> bool:
    """Whether all literals of a row hold for the scattered event."""
    for p in range(c.first[row], c.first[row] + leading[row]):  # noqa: SIM110 (a kernel has no generators)
        if (end[c.attrs[p]] > 0) != (c.ops[p] != MISSING):
            return False
    return True


@leaf
def partly_satisfied(c: Columns, leading: Int32Array, row: int, lo: int, hi: int, length: int, end: Int32Array) -> bool:
    """Whether the first `length` literals of a row's sequence hold for the scattered event."""
    count = leading[row]
    first, _ = sequence(c, row, count, lo, hi)
    for i in range(length):
        lit = cyclic(c, row, count, first, i)
        if (end[lit >> 1] > 0) != (lit & 1 > 0):
            return False
    return True
