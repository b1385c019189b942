"""`Delta`: the conjunctions added since an index was built, in chains under one equality, attribute or nothing.

Readers never wait: rows are only appended, a chain is extended at its head after the new row is complete, and a reader takes
the number of rows when it starts and skips those that came later. Arrays that grow are replaced; readers keep the old ones.
One writer at a time, which the owner of the delta sees to.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.buffer import grown
from tamis.arrays.hashing import pair_bucket
from tamis.arrays.jit import kernel, leaf
from tamis.arrays.memory import publish
from tamis.candidates.verify import conjunction_holds, gather, scatter
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import FIRST_SET, IN, MISSING, SubscriptionTable

SMALLEST = 1024
HEAD_BITS = 10


class Rows(NamedTuple):
    """Rows in table form, with their chains.

    owners int32[r], shared uint8[r], dead uint8[r], next int32[r] (-1 ends), offsets int64[r+1]; attrs, ops, lo, hi as in
    `SubscriptionTable`; key_of int32[r]: the predicate a row is filed under, -1 for none. heads int32[2^b] by hash of
    attribute and key; by_attr int32[attributes + 1], the last for rows without a key.
    """

    owners: Int32Array
    shared: NDArray[np.uint8]
    dead: NDArray[np.uint8]
    next: Int32Array
    key_of: Int32Array
    offsets: Int64Array
    attrs: Int32Array
    ops: NDArray[np.uint8]
    lo: Int64Array
    hi: Int64Array
    sets: Int64Array
    heads: Int32Array
    by_attr: Int32Array


def no_rows(attributes: int) -> Rows:
    """Empty rows with a little room."""
    n = SMALLEST
    small = (np.zeros(n, np.int32), np.zeros(n, np.uint8), np.zeros(n, np.uint8), np.zeros(n, np.int32))
    predicates = (np.zeros(8 * n, np.int32), np.zeros(8 * n, np.uint8), np.zeros(8 * n, np.int64))
    heads, by_attr = np.full(1 << HEAD_BITS, -1, np.int32), np.full(attributes + 1, -1, np.int32)
    offsets, hi, sets = np.zeros(n + 1, np.int64), np.zeros(8 * n, np.int64), np.zeros(0, np.int64)
    return Rows(*small, np.zeros(n, np.int32), offsets, *predicates, hi, sets, heads, by_attr)


class Delta:
    """Conjunctions that can be added and removed while others match."""

    def __init__(self, attributes: int) -> None:
        self.view: tuple[Rows, int] = (no_rows(attributes), 0)
        self.where: dict[int, int] = {}

    def __len__(self) -> int:
        return self.view[1]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.view[0])

    def alive(self) -> int:
        """Conjunctions that are not dead."""
        rows, count = self.view
        return count - int(np.count_nonzero(rows.dead[:count]))

    def insert(self, table: SubscriptionTable) -> None:
        """Append the conjunctions of a table; they are visible when this returns."""
        if not len(table):
            return
        firsts = np.flatnonzero(np.diff(table.owners, prepend=-1) != 0)
        if len(np.unique(table.owners)) != len(firsts):  # rows of one owner must be neighbours
            table = table.take(np.argsort(table.owners, kind="stable"))
            firsts = np.flatnonzero(np.diff(table.owners, prepend=-1) != 0)
        rows, count = self.view
        rows = self._with_room(rows, count, table)
        lengths = np.diff(firsts, append=len(table))
        shared = np.repeat(lengths > 1, lengths)
        columns = (table.owners, shared, table.offsets, table.attrs, table.ops, table.lo, table.hi)
        sets_before = len(rows.sets)
        if len(table.sets):
            rows = rows._replace(sets=np.concatenate([rows.sets, table.sets]))
        append(rows, count, *columns, sets_before)
        self.where.update(zip(table.owners[firsts].tolist(), (firsts + count).tolist(), strict=True))
        self.view = (rows, count + len(table))

    def remove(self, ids: Int32Array) -> int:
        """Mark the rows of these owners as dead; returns how many owners were here."""
        rows, count = self.view
        found = [row for row in (self.where.pop(i, -1) for i in ids.tolist()) if row >= 0]
        bury(rows.owners, rows.dead, np.array(found, np.int64), count)
        return len(found)

    def table(self, dictionary: Dictionary) -> SubscriptionTable:
        """The live rows."""
        rows, count = self.view
        last = int(rows.offsets[count])
        columns = (rows.attrs[:last], rows.ops[:last], rows.lo[:last], rows.hi[:last])
        whole = SubscriptionTable(rows.owners[:count], rows.offsets[: count + 1], *columns, rows.sets, dictionary)
        return whole.take(np.flatnonzero(rows.dead[:count] == 0))

    def _with_room(self, rows: Rows, count: int, table: SubscriptionTable) -> Rows:
        needed = count + len(table)
        predicates = int(rows.offsets[count]) + len(table.attrs)
        highest = int(table.attrs.max(initial=-1)) + 2
        if needed > len(rows.owners):
            names: tuple[str, ...] = ("owners", "shared", "dead", "next", "key_of")
            larger: dict[str, Any] = {name: grown(getattr(rows, name), needed) for name in names}
            larger["dead"][count:] = 0
            # Chains are copied too, or new rows would lead readers beyond the end of the arrays they have.
            larger |= {"heads": rows.heads.copy(), "by_attr": rows.by_attr.copy()}
            rows = rows._replace(**larger, offsets=grown(rows.offsets, len(larger["owners"]) + 1))
        if predicates > len(rows.attrs):
            rows = rows._replace(
                **{name: grown(getattr(rows, name), predicates) for name in ("attrs", "ops", "lo", "hi")}
            )
        if highest > len(rows.by_attr) or needed > len(rows.heads):
            bits = max(HEAD_BITS, needed.bit_length() + 1)
            attributes = max(len(rows.by_attr), 2 * highest)
            fresh: dict[str, Any] = {
                "heads": np.full(1 << bits, -1, np.int32),
                "by_attr": np.full(attributes, -1, np.int32),
            }
            fresh |= {"next": rows.next.copy(), "key_of": rows.key_of.copy()}  # readers go on along the old chains
            rows = rows._replace(**fresh)
            link(rows, 0, count)
        return rows


def match_view(rows: Rows, count: int, events: EventBatch) -> tuple[MatchSet, int]:
    """Owners of the live conjunctions among the first `count` that hold for each event, and how many were tested."""
    offsets, ids, tested = match_rows(rows, count, events.offsets, events.attrs, events.keys, events.multi)
    return MatchSet(offsets, ids), tested


@leaf
def head_of(attr: int, key: int, heads: Int32Array) -> int:
    """The place in `heads` of an equality."""
    bits = 0
    while 1 << bits < len(heads):
        bits += 1
    return pair_bucket(attr + 1, key, bits)


@leaf
def link(rows: Rows, first: int, last: int) -> None:
    """File rows first:last: under an equality that nobody uses yet, any equality, the attribute least used, or nothing."""
    heads, by_attr = rows.heads, rows.by_attr
    for r in range(first, last):
        key, place, free = -1, -1, False
        for p in range(rows.offsets[r], rows.offsets[r + 1]):
            if rows.ops[p] == IN and rows.lo[p] == rows.hi[p] and not free:
                place = head_of(rows.attrs[p], rows.lo[p], heads)
                key, free = p, heads[place] < 0
        if key >= 0:
            place = head_of(rows.attrs[key], rows.lo[key], heads)
            rows.key_of[r], rows.next[r] = key, heads[place]
            publish()
            heads[place] = r
            continue
        attr, oldest = len(by_attr) - 1, last
        for p in range(rows.offsets[r], rows.offsets[r + 1]):  # the attribute whose chain was extended longest ago
            if rows.ops[p] != MISSING and by_attr[rows.attrs[p]] < oldest:
                attr, oldest, key = rows.attrs[p], by_attr[rows.attrs[p]], p
        rows.key_of[r], rows.next[r] = key, by_attr[attr]
        publish()
        by_attr[attr] = r


@leaf
def append(
    rows: Rows,
    count: int,
    owners: Int32Array,
    shared: NDArray[np.bool_],
    offsets: Int64Array,
    attrs: Int32Array,
    ops: NDArray[np.uint8],
    lo: Int64Array,
    hi: Int64Array,
    sets_before: int,
) -> None:
    """Write the conjunctions of a table as rows count:… and file them; there is room."""
    base = rows.offsets[count]
    for p in range(offsets[-1]):
        shift = sets_before if ops[p] >= FIRST_SET else 0
        rows.attrs[base + p], rows.ops[base + p] = attrs[p], ops[p]
        rows.lo[base + p], rows.hi[base + p] = lo[p] + shift, hi[p] + shift
    for r in range(len(owners)):
        rows.owners[count + r], rows.shared[count + r], rows.dead[count + r] = owners[r], shared[r], 0
        rows.offsets[count + r + 1] = base + offsets[r + 1]
    link(rows, count, count + len(owners))


@leaf
def bury(owners: Int32Array, dead: NDArray[np.uint8], firsts: Int64Array, count: int) -> None:
    """Mark the rows of one owner that start at each of `firsts` as dead."""
    for first in firsts:
        r = first
        while r < count and owners[r] == owners[first]:
            dead[r] = 1
            r += 1


@leaf
def match_event(
    rows: Rows,
    count: int,
    attrs: Int32Array,
    keys: Int64Array,
    first: int,
    last: int,
    begin: Int32Array,
    end: Int32Array,
    out: Int32Array,
    start: int,
    tested: Int64Array,
) -> int:
    """Append the owners of the rows below `count` that hold for the scattered event, negative when shared.

    Returns the new end of `out`, or -1 when it is full; adds to tested[0] the rows tested.
    """
    n = start
    attributes = len(rows.by_attr) - 1
    for i in range(first - 1, last):  # the turn before the first pair is for rows without a key
        attr = attrs[i] if i >= first else attributes
        if i >= first and attr >= attributes:
            continue
        for equality in range(2):
            row = -1
            if equality:
                row = rows.heads[head_of(attr, keys[i], rows.heads)] if i >= first else -1
            elif i < first or begin[attr] == i:
                row = rows.by_attr[attr]
            while row >= 0:
                r, row = row, rows.next[row]
                if r >= count or rows.dead[r]:
                    continue
                p = rows.key_of[r]
                if equality and (rows.attrs[p] != attr or rows.lo[p] != keys[i]):
                    continue
                tested[0] += 1
                if conjunction_holds(
                    rows.offsets[r],
                    rows.offsets[r + 1],
                    rows.attrs,
                    rows.ops,
                    rows.lo,
                    rows.hi,
                    rows.sets,
                    keys,
                    begin,
                    end,
                ):
                    if n >= len(out):
                        return -1
                    out[n] = -rows.owners[r] - 1 if rows.shared[r] else rows.owners[r]
                    n += 1
    return n


@kernel
def match_rows(
    rows: Rows, count: int, event_offsets: Int64Array, event_attrs: Int32Array, event_keys: Int64Array, multi: bool
) -> tuple[Int64Array, Int32Array, int]:
    """Owners of rows below `count` that hold: offsets int64[n+1], ids int32, and the rows tested; mutates nothing given."""
    attributes = len(rows.by_attr) - 1
    begin, end = np.zeros(attributes, np.int32), np.zeros(attributes, np.int32)
    offsets, out, tested = np.zeros(len(event_offsets), np.int64), np.empty(256, np.int32), np.zeros(1, np.int64)
    for e in range(len(event_offsets) - 1):
        first, last, start = event_offsets[e], event_offsets[e + 1], offsets[e]
        scatter(event_attrs, first, last, begin, end)
        n = match_event(rows, count, event_attrs, event_keys, first, last, begin, end, out, start, tested)
        while n < 0:
            out = grown(out, len(out) + 1)
            n = match_event(rows, count, event_attrs, event_keys, first, last, begin, end, out, start, tested)
        gather(event_attrs, first, last, begin, end)
        repeats = multi
        for i in range(start, n):
            if out[i] < 0:
                out[i], repeats = -out[i] - 1, True
        if repeats and n > start + 1:
            some = np.unique(out[start:n])
            out[start : start + len(some)] = some
            n = start + len(some)
        offsets[e + 1] = n
    return offsets, out[: offsets[-1]], tested[0]
