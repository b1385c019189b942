"""Counting: which conjunctions have all their predicates satisfied, by three tables of who has which predicate.

    lists      per predicate a row of conjunction ids; work in proportion to the hits
    bitmatrix  a bit per (predicate, conjunction), read a machine word at a time; work in proportion to the words
    matrix     a byte per (predicate, conjunction), whole rows added to the hit vector; work in proportion to both sides

Hits and the numbers to reach are bytes, so at most LIMIT predicates of a conjunction are associated and counted; the few
beyond are looked up in the predicate bit vector once the count is reached.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.bits import WORD, lowest_bit
from tamis.arrays.buffer import extended
from tamis.arrays.jit import leaf
from tamis.arrays.pool import Pool, enlarged, fits, give, new_pool, size_class, take
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.errors import EngineError

LIMIT = 255
LISTS, BITS, BYTES = 0, 1, 2  # kinds of association
NO_BITS, NO_BYTES = np.zeros((0, 0), np.uint64), np.zeros((0, 0), np.uint8)


class Lists(NamedTuple):
    """Row p is cells[start[p] : start[p] + size[p]] (int32 conjunction ids) in a block of class block[p] (0: none)."""

    start: Int64Array
    size: Int32Array
    block: NDArray[np.int8]
    cells: Int32Array
    pool: Pool


class Association(NamedTuple):
    """What the counting kernel is given: `kind` says which of the three is in use, the other two are empty."""

    kind: int
    lists: Lists
    bits: NDArray[np.uint64]
    bytes: NDArray[np.uint8]


class ListAssociation:
    """Growable posting lists; deletion reads each row of the conjunction's predicates."""

    def __init__(self) -> None:
        pool = new_pool()
        none = np.zeros(0, np.int64)
        cells = np.zeros(pool.capacity, np.int32)
        self.state = Lists(none, none.astype(np.int32), none.astype(np.int8), cells, pool)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.state[:-1]) + self.state.pool.nbytes

    def association(self) -> Association:
        """The current state, for the kernel."""
        return Association(LISTS, self.state, NO_BITS, NO_BYTES)

    def add(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array, made: tuple[int, int]) -> None:
        """Associate conjunctions with their predicates; `made` is (predicate ids, conjunction ids) in existence."""
        s = self.state
        start, size = extended(s.start, made[0], 0), extended(s.size, made[0], 0)
        self.state = s._replace(start=start, size=size, block=extended(s.block, made[0], 0))
        done = 0
        while True:
            done = list_add(self.state, ids, offsets, predicates, done)
            if done == len(predicates):
                return
            pool = enlarged(self.state.pool, 2 * int(self.state.size.max()) + 4)
            cells = extended(self.state.cells, pool.capacity, 0)
            self.state = self.state._replace(cells=cells, pool=pool)

    def remove(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Undo `add`."""
        list_remove(self.state, ids, offsets, predicates)


class MatrixAssociation:
    """A matrix of bytes, or of bits in words; refuses to grow beyond a bound."""

    def __init__(self, max_bytes: int, bits: bool) -> None:
        self.max_bytes, self.bits = max_bytes, bits
        self.no_lists = ListAssociation().state
        self.state: NDArray[Any] = np.zeros((0, 0), np.uint64 if bits else np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix."""
        return self.state.nbytes

    def association(self) -> Association:
        """The current state, for the kernel."""
        if self.bits:
            return Association(BITS, self.no_lists, self.state, NO_BYTES)
        return Association(BYTES, self.no_lists, NO_BITS, self.state)

    def add(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array, made: tuple[int, int]) -> None:
        """Associate conjunctions with their predicates; `made` is (predicate ids, conjunction ids) in existence."""
        self._reach(made[0], -(-made[1] // WORD) if self.bits else made[1])
        matrix_set(self.state, ids, offsets, predicates, True)

    def remove(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Undo `add`."""
        matrix_set(self.state, ids, offsets, predicates, False)

    def check(self, made: tuple[int, int]) -> None:
        """Refuse sizes whose matrix would not fit, naming what it would need."""
        columns = -(-made[1] // WORD) if self.bits else made[1]
        needed = made[0] * columns * self.state.itemsize
        if needed > self.max_bytes:
            kind = "bitmatrix" if self.bits else "matrix"
            raise EngineError(
                f"counting: a {kind} of {made[0]:,} predicates by {made[1]:,} conjunctions needs {needed:,} bytes, "
                f"more than max_bytes={self.max_bytes:,}; raise max_bytes or use association='lists'"
            )

    def _reach(self, rows: int, columns: int) -> None:
        have = self.state.shape
        if rows <= have[0] and columns <= have[1]:
            return
        shape = [max(h, n, h + h // 2 if n > h else 0) for h, n in zip(have, (rows, columns), strict=True)]
        if shape[0] * shape[1] * self.state.itemsize > self.max_bytes:
            shape = [max(have[0], rows), max(have[1], columns)]
        larger = np.zeros(shape, self.state.dtype)
        larger[: have[0], : have[1]] = self.state
        self.state = larger


@leaf
def list_add(s: Lists, ids: Int32Array, offsets: Int64Array, predicates: Int32Array, start: int) -> int:
    """Append conjunctions to the rows of predicates[start:], until a row does not fit; returns the one to go on with."""
    k = 0
    for i in range(start, len(predicates)):
        while offsets[k + 1] <= i:
            k += 1
        if i - offsets[k] >= LIMIT:
            continue
        p = predicates[i]
        n = s.size[p]
        c = size_class(n + 1)
        if c > s.block[p]:
            if not fits(s.pool, c):
                return i
            base = take(s.pool, c)
            for j in range(n):
                s.cells[base + j] = s.cells[s.start[p] + j]
            if s.block[p] > 0:
                give(s.pool, s.start[p], s.block[p])
            s.start[p], s.block[p] = base, c
        s.cells[s.start[p] + n] = ids[k]
        s.size[p] = n + 1
    return len(predicates)


@leaf
def list_remove(s: Lists, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
    """Take conjunctions out of the rows of their predicates, the last of a row filling the gap."""
    for k in range(len(ids)):
        for i in range(offsets[k], min(offsets[k + 1], offsets[k] + LIMIT)):
            p = predicates[i]
            last = s.start[p] + s.size[p] - 1
            at = s.start[p]
            while s.cells[at] != ids[k]:
                at += 1
            s.cells[at] = s.cells[last]
            s.size[p] -= 1
            if s.size[p] == 0:
                give(s.pool, s.start[p], s.block[p])
                s.block[p] = 0


@leaf
def matrix_set(
    matrix: NDArray[Any], ids: Int32Array, offsets: Int64Array, predicates: Int32Array, wanted: bool
) -> None:
    """Set or clear the entries of conjunctions with their first LIMIT predicates; the item size tells bits from bytes."""
    for k in range(len(ids)):
        for i in range(offsets[k], min(offsets[k + 1], offsets[k] + LIMIT)):
            if matrix.itemsize == 1:
                matrix[predicates[i], ids[k]] = 1 if wanted else 0
            else:
                flag = np.uint64(1) << np.uint64(ids[k] & (WORD - 1))
                word = matrix[predicates[i], ids[k] // WORD]
                matrix[predicates[i], ids[k] // WORD] = word | flag if wanted else word & ~flag


class Tally(NamedTuple):
    """hits uint8[conjunctions], all zero between events; goal uint8[conjunctions]: hits that make a candidate (0: never);
    touched int32[conjunctions]: those with hits; found int32[conjunctions]: those that reached their goal."""

    hits: NDArray[np.uint8]
    goal: NDArray[np.uint8]
    touched: Int32Array
    found: Int32Array


def new_tally() -> Tally:
    """For no conjunction yet."""
    none = np.zeros(0, np.uint8)
    return Tally(none, none, none.astype(np.int32), none.astype(np.int32))


def reached(tally: Tally, conjunctions: int) -> Tally:
    """The tally with room for so many conjunctions."""
    return Tally(*(extended(column, conjunctions, 0) for column in tally))  # type: ignore[arg-type]


@leaf
def count_lists(s: Lists, t: Tally, satisfied: Int32Array, n: int) -> tuple[int, int]:
    """Count with posting lists for the n satisfied predicates; returns (candidates found, conjunctions touched)."""
    touched, found = 0, 0
    for i in range(n):
        p = satisfied[i]
        if p >= len(s.start):
            continue
        for at in range(s.start[p], s.start[p] + s.size[p]):
            c = s.cells[at]
            h = t.hits[c] + np.uint8(1)
            t.hits[c] = h
            if h == 1:
                t.touched[touched] = c
                touched += 1
            if h == t.goal[c]:
                t.found[found] = c
                found += 1
    for i in range(touched):
        t.hits[t.touched[i]] = 0
    return found, touched


@leaf
def count_bits(matrix: NDArray[np.uint64], t: Tally, satisfied: Int32Array, n: int) -> tuple[int, int]:
    """Count with the bit matrix: words without a bit are passed over; returns (candidates found, conjunctions touched)."""
    touched, found = 0, 0
    for i in range(n):
        row = matrix[satisfied[i]]
        for j in range(len(row)):
            word = row[j]
            while word != 0:
                c = j * WORD + lowest_bit(word)
                word &= word - np.uint64(1)
                h = t.hits[c] + np.uint8(1)
                t.hits[c] = h
                if h == 1:
                    t.touched[touched] = c
                    touched += 1
                if h == t.goal[c]:
                    t.found[found] = c
                    found += 1
    for i in range(touched):
        t.hits[t.touched[i]] = 0
    return found, touched


@leaf
def count_bytes(matrix: NDArray[np.uint8], t: Tally, satisfied: Int32Array, n: int, made: int) -> tuple[int, int]:
    """Count with the byte matrix: whole rows added, then all hits compared; returns (candidates, conjunctions compared)."""
    hits, goal = t.hits[:made], t.goal[:made]
    for i in range(n):
        row = matrix[satisfied[i], :made]
        for c in range(made):
            hits[c] += row[c]
    found = 0
    for c in range(made):
        if hits[c] == goal[c] and goal[c] > 0:
            t.found[found] = c
            found += 1
        hits[c] = 0
    return found, made


@leaf
def count(x: Association, t: Tally, satisfied: Int32Array, n: int) -> tuple[int, int]:
    """Count by whichever association is in use; returns (candidates found, conjunctions touched)."""
    if x.kind == LISTS:
        return count_lists(x.lists, t, satisfied, n)
    if x.kind == BITS:
        return count_bits(x.bits, t, satisfied, n)
    return count_bytes(x.bytes, t, satisfied, n, min(x.bytes.shape[1], len(t.hits)))
