"""Counting: which conjunctions have all their predicates satisfied, by three tables of who has which predicate.

    lists      per predicate a row of conjunction ids; work in proportion to the hits
    bitmatrix  a bit per (predicate, conjunction), 64 conjunctions counted at a time; work in proportion to the words
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
COUNTER = 8  # bits of a counter
NARROW = 4  # counters of so many bits are counted in one sweep
NO_BITS, NO_BYTES = np.zeros((0, 0), np.uint64), np.zeros((0, 0), np.uint8)


class Lists(NamedTuple):
    """Row p is cells[start[p] : start[p] + size[p]] (int32 conjunction ids) in a block of class block[p] (0: none)."""

    start: Int64Array
    size: Int32Array
    block: NDArray[np.int8]
    cells: Int32Array
    pool: Pool


class Planes(NamedTuple):
    """Counters of all conjunctions, sliced: bit k of the counter of conjunction c is bit c % 64 of hits[k, c // 64] (uint64
    [COUNTER, words], all zero between events); `goal` alike: the numbers to reach. carry uint64[words]: scratch; used
    int64[1]: bits that the largest goal takes."""

    hits: NDArray[np.uint64]
    goal: NDArray[np.uint64]
    carry: NDArray[np.uint64]
    used: Int64Array


def new_planes(words: int, before: Planes | None = None) -> Planes:
    """Planes of so many words, with the goals and use of those before."""
    goal = np.zeros((COUNTER, words), np.uint64)
    if before is not None:
        goal[:, : before.goal.shape[1]] = before.goal
    used = np.zeros(1, np.int64) if before is None else before.used
    return Planes(np.zeros((COUNTER, words), np.uint64), goal, np.zeros(words, np.uint64), used)


class Association(NamedTuple):
    """What the counting kernel is given: `kind` says which of the three is in use, the others are empty."""

    kind: int
    lists: Lists
    bits: NDArray[np.uint64]
    planes: Planes
    bytes: NDArray[np.uint8]


class ListAssociation:
    """Growable posting lists; deletion reads each row of the conjunction's predicates."""

    def __init__(self) -> None:
        pool = new_pool()
        none = np.zeros(0, np.int64)
        cells = np.zeros(pool.capacity, np.int32)
        self.state = Lists(none, none.astype(np.int32), none.astype(np.int8), cells, pool)
        self.no_planes = new_planes(0)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.state[:-1]) + self.state.pool.nbytes

    def association(self) -> Association:
        """The current state, for the kernel."""
        return Association(LISTS, self.state, NO_BITS, self.no_planes, NO_BYTES)

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
        self.no_lists, self.planes = ListAssociation().state, new_planes(0)
        self.state: NDArray[Any] = np.zeros((0, 0), np.uint64 if bits else np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix and of the counters that belong to it."""
        return self.state.nbytes + sum(array.nbytes for array in self.planes)

    def association(self) -> Association:
        """The current state, for the kernel."""
        if self.bits:
            return Association(BITS, self.no_lists, self.state, self.planes, NO_BYTES)
        return Association(BYTES, self.no_lists, NO_BITS, self.planes, self.state)

    def add(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array, made: tuple[int, int]) -> None:
        """Associate conjunctions with their predicates; `made` is (predicate ids, conjunction ids) in existence."""
        self._reach(made[0], -(-made[1] // WORD) if self.bits else made[1])
        matrix_set(self.state, ids, offsets, predicates, True)
        if self.bits:
            set_goals(self.planes, ids, offsets, True)

    def remove(self, ids: Int32Array, offsets: Int64Array, predicates: Int32Array) -> None:
        """Undo `add`."""
        matrix_set(self.state, ids, offsets, predicates, False)
        if self.bits:
            set_goals(self.planes, ids, offsets, False)

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
        if self.bits and shape[1] > have[1]:
            self.planes = new_planes(shape[1], self.planes)


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
def set_goals(p: Planes, ids: Int32Array, offsets: Int64Array, wanted: bool) -> None:
    """Write the numbers of hits that conjunctions need, at most LIMIT, or clear them."""
    for i in range(len(ids)):
        goal, word, flag = (
            min(offsets[i + 1] - offsets[i], LIMIT),
            ids[i] // WORD,
            np.uint64(1) << np.uint64(ids[i] % WORD),
        )
        for k in range(COUNTER):
            if wanted and goal >> k & 1:
                p.goal[k, word] |= flag
                p.used[0] = max(p.used[0], k + 1)
            else:
                p.goal[k, word] &= ~flag


@leaf
def add_narrow(row: NDArray[np.uint64], hits: NDArray[np.uint64]) -> None:
    """Add one to the counters (of NARROW bits) of the conjunctions in a row of the matrix: four half adders a word."""
    h0, h1, h2, h3 = hits[0], hits[1], hits[2], hits[3]
    for j in range(len(row)):
        carry = row[j]
        a, b, c = h0[j], h1[j], h2[j]
        h0[j] = a ^ carry
        carry &= a
        h1[j] = b ^ carry
        carry &= b
        h2[j] = c ^ carry
        carry &= c
        h3[j] ^= carry


@leaf
def add_wide(row: NDArray[np.uint64], p: Planes) -> None:
    """The same for counters of any width, plane after plane."""
    carry = p.carry
    for j in range(len(row)):
        carry[j] = row[j]
    for k in range(p.used[0]):
        plane = p.hits[k]
        for j in range(len(row)):
            both = plane[j] & carry[j]
            plane[j] ^= carry[j]
            carry[j] = both


@leaf
def count_bits(matrix: NDArray[np.uint64], p: Planes, t: Tally, satisfied: Int32Array, n: int) -> tuple[int, int]:
    """Count with the bit matrix, 64 conjunctions at a time; returns (candidates found, conjunctions compared).

    Hits never pass the goal, so counters need no more bits than goals do. Clears the counters.
    """
    for i in range(n):
        if p.used[0] <= NARROW:
            add_narrow(matrix[satisfied[i]], p.hits)
        else:
            add_wide(matrix[satisfied[i]], p)
    found = 0
    for j in range(matrix.shape[1]):
        differs, goal = np.uint64(0), np.uint64(0)
        for k in range(p.used[0]):
            differs |= p.hits[k, j] ^ p.goal[k, j]
            goal |= p.goal[k, j]
            p.hits[k, j] = 0
        word = goal & ~differs
        while word != 0:
            t.found[found] = j * WORD + lowest_bit(word)
            found += 1
            word &= word - np.uint64(1)
    return found, matrix.shape[1] * WORD


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
        return count_bits(x.bits, x.planes, t, satisfied, n)
    return count_bytes(x.bytes, t, satisfied, n, min(x.bytes.shape[1], len(t.hits)))
