"""`pubsub`: PUBSUB (paper 004): rows under their rarest attribute, spread over buckets by a structure chosen per attribute.

Attributes are numbered by how often conjunctions name them, rarest first, when the engine is built and again whenever it
has grown fourfold; attributes first met in between count as the rarest. `structure` = `auto` takes, per attribute, an
interval tree for a declared `int[lo..hi]`, a hash table where only equality is asked, a red-black priority search tree
otherwise. Text predicates arrive as attributes of their own (derived attributes): the Aho-Corasick automaton that finds
those in a value is the structure D of the text's attribute, and each pattern is a bucket it leads to (`ac` in `stats()`).
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tamis.arrays import interval_tree, priority_tree
from tamis.arrays.buffer import grown
from tamis.arrays.jit import kernel, leaf
from tamis.candidates import structures
from tamis.candidates.rows import Columns, Rows, arranged, longer
from tamis.candidates.structures import HASH, HEADER, IT, LAST_CELL, RBPST, Structures, Ways
from tamis.candidates.verify import conjunction_holds, gather, scatter
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import IN, MISSING, SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options
from tamis.errors import EngineError, nearest
from tamis.model.schema import IntDomain

BUCKET_SIZES = {"events": 5000, "balanced": 512, "churn": 32}
KINDS = {"hash": HASH, "it": IT, "rbpst": RBPST}
ORDERED_FROM = 256  # buckets of this size or more are kept in order; smaller ones cost less unordered
SHORT = 32  # up to here an ordered bucket is read through
RANK_AGAIN = 4
FIRST_RANKING = 10_000


@dataclass(frozen=True, slots=True)
class PubsubOptions(Options):
    """`profile`: events, balanced or churn, which sets the bucket size unless `bucket_size` does. `structure`: auto, or
    one of it, rbpst, hash for every attribute."""

    profile: str = "events"
    bucket_size: int | None = None
    structure: str = "auto"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("profile", self.profile, list(BUCKET_SIZES)),
            ("structure", self.structure, ["auto", *KINDS]),
        ):
            if value not in known:
                raise EngineError(
                    f"engine 'pubsub': {name} {value!r} is not one of {', '.join(known)}{nearest(value, known)}"
                )
        if self.bucket_size is not None and self.bucket_size < 1:
            raise EngineError(f"engine 'pubsub': bucket_size = {self.bucket_size} must be at least 1")


class PubsubEngine:
    """Rows, the order of attributes, and the structures."""

    capabilities: ClassVar = Capabilities("attribute structures over buckets, rarest attribute first", "paper 004")
    options_type: ClassVar = PubsubOptions

    def __init__(self, options: PubsubOptions) -> None:
        self.capacity = options.bucket_size or BUCKET_SIZES[options.profile]
        self.ordered = self.capacity >= ORDERED_FROM
        self.forced = KINDS.get(options.structure)
        self.rows = Rows()
        self.leading = np.empty(0, np.int32)
        self.rank = np.empty(0, np.int64)
        self.ways = Ways(np.empty(0, np.uint8), np.empty(0, np.float64), np.empty(0, np.float64))
        self.structures = structures.new_structures()
        self.ranked_at = self.rankings = 0
        self.derived = self.events = self.matches = 0
        self.visited = np.zeros(3, np.int64)

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: PubsubOptions) -> Self:
        """Rank the attributes, then insert."""
        engine = cls(options)
        engine._rank(subscriptions)
        engine.insert(subscriptions)
        engine.ranked_at = max(FIRST_RANKING, engine.rows.live)
        return engine

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """As figure 3 of the paper; or all anew in a fresh order of attributes, once the engine has grown enough."""
        if self.ranked_at and self.rows.live + len(subscriptions) > RANK_AGAIN * self.ranked_at:
            subscriptions = SubscriptionTable.concat([self.rows.table(subscriptions.dictionary), subscriptions])
            self.rows, self.structures = Rows(), structures.new_structures()
            self._rank(subscriptions)
            self.ranked_at = len(subscriptions)
            self.rankings += 1
        self._know(subscriptions)
        ordered, leading = arranged(subscriptions, self.rank, absence=False)
        rows = self.rows.add(ordered)
        self.leading = longer(self.leading, self.rows.used)
        self.leading[rows] = leading
        self.structures = structures.with_rows(self.structures, self.rows.used)
        many = len(rows) > self.capacity
        waiting, start = np.empty(self.rows.live + 1, np.int32), np.empty(self.rows.live + 1, np.int32)
        fixed = (self.ways, self.rows.columns, self.leading, rows)
        done = count = 0
        while done < len(rows) or count:
            done, count = structures.place_all(
                self.structures, *fixed, done, waiting, start, count, self.capacity, self.ordered and not many
            )
            if done < len(rows) or count:
                self.structures = structures.enlarged(self.structures)
        if self.ordered and many:
            structures.order_all(self.structures)

    def remove(self, ids: Int32Array) -> None:
        """The inverse."""
        rows = self.rows.drop(ids)
        touched = structures.take_out(self.structures, rows)
        done = 0
        while done < len(touched):
            fixed = (self.ways, self.rows.columns, self.leading, touched)
            done = structures.tidy(self.structures, *fixed, done, self.capacity, self.ordered)
            if done < len(touched):
                top = self.structures.top
                top[structures.LARGEST] = max(top[structures.LARGEST], self.capacity)
                self.structures = structures.enlarged(self.structures)

    def match(self, events: EventBatch) -> MatchSet:
        """As figure 2 of the paper."""
        given = (events.offsets, events.attrs, events.keys)
        highest = len(self.rows.head) if events.multi else self.rows.repeating
        fixed = (self.structures, self.ways, self.rows.columns, self.ordered)
        offsets, ids, work = search(*fixed, *given, highest)
        self.events += len(events)
        self.matches += len(ids)
        self.visited += work
        return MatchSet(offsets, ids)

    def stats(self) -> EngineStats:
        """Structures and buckets, those visited, and which D the attributes use."""
        top, s = self.structures.top, self.structures
        kinds = np.bincount(self.ways.kind, minlength=3)
        details = {
            "structures": int(top[structures.LIVE_STRUCTURES]),
            "buckets": int(top[structures.LIVE_BUCKETS]),
            "largest_bucket": int(s.b_size[: top[structures.BUCKETS]][s.b_level[: top[structures.BUCKETS]] >= 0].max()),
            "structures_visited": int(self.visited[0]),
            "buckets_visited": int(self.visited[1]),
            "attributes_by_structure": {
                "hash": int(kinds[HASH]) - self.derived,
                "it": int(kinds[IT]),
                "rbpst": int(kinds[RBPST]),
                "ac": self.derived,
            },
            "rankings": self.rankings,
        }
        held = self.rows.nbytes + s.nbytes + self.leading.nbytes + self.rank.nbytes
        counts = (self.events, int(self.visited[2]), self.matches)
        return EngineStats(self.rows.owners, self.rows.live, held, *counts, details)

    def _rank(self, table: SubscriptionTable) -> None:
        """Number the attributes rarest first, and choose each one's D by what the table asks of it."""
        self.rank, self.derived = np.empty(0, np.int64), 0
        self.ways = Ways(np.empty(0, np.uint8), np.empty(0, np.float64), np.empty(0, np.float64))
        self._know(table)
        used = table.attrs[table.ops != MISSING]
        frequency = np.bincount(used, minlength=len(self.rank))
        self.rank[np.argsort(frequency, kind="stable")] = np.arange(len(self.rank)) + (1 << 30)

    def _know(self, table: SubscriptionTable) -> None:
        """Give attributes met for the first time a rank before all others, and a D."""
        known, total = len(self.rank), max(len(self.rank), len(table.dictionary))
        if total == known:
            return
        self.rank = np.concatenate([self.rank, np.arange(known, total, dtype=np.int64)])
        plain = (table.ops == IN) & (table.lo == table.hi)
        ranged = np.zeros(total, bool)
        ranged[table.attrs[~plain & (table.ops != MISSING)]] = True
        seen = np.zeros(total, bool)
        seen[table.attrs] = True
        kind = np.where(seen & ~ranged, HASH, RBPST).astype(np.uint8)[known:]
        base, scale = np.zeros(total - known), np.zeros(total - known)
        for a in range(known, total):
            domain = table.dictionary.domain(a)
            if isinstance(domain, IntDomain) and domain.finite:
                base[a - known], scale[a - known] = domain.lo, (LAST_CELL + 1) / (domain.hi - domain.lo + 1)
                kind[a - known] = IT
        if self.forced is not None:
            kind[:] = self.forced
        new = [a for a in table.dictionary.derived if known <= a < total]
        kind[np.array(new, np.int64) - known] = HASH
        self.derived += len(new)
        w = self.ways
        join = np.concatenate
        self.ways = Ways(join([w.kind, kind]), join([w.base, base]), join([w.scale, scale]))


@leaf
def buckets_found(
    s: Structures,
    w: Ways,
    z: int,
    keys: Int64Array,
    begin: int,
    end: int,
    low: int,
    high: int,
    nodes: Int32Array,
    cells: Int64Array,
    out: Int32Array,
) -> int:
    """Buckets of a structure that can hold what the values keys[begin:end], spanning low..high, satisfy; returns how many.

    `nodes` and `cells` are scratch, `out` has room for every bucket there is."""
    if not s.z_open[z]:
        out[0] = s.z_only[z]
        return 1
    kind = w.kind[s.z_attr[z]]
    if kind == RBPST:
        return priority_tree.search(s.priorities, s.z_root[z], high, low, nodes, out)
    if kind == IT:
        a, b = structures.position(w, s.z_attr[z], low), structures.position(w, s.z_attr[z], high)
        return interval_tree.search(s.intervals, s.z_root[z], 0, LAST_CELL, a, b, cells, out)
    n = 0
    if s.z_only[z] >= 0:
        out[0], n = s.z_only[z], 1
    for i in range(begin, end):
        b = structures.bucket_of_constant(s, z, keys[i])
        repeated = False
        for j in range(begin, i):
            repeated |= keys[j] == keys[i]
        if b >= 0 and not repeated:
            out[n] = b
            n += 1
    return n


@leaf
def candidates(
    s: Structures,
    b: int,
    ordered: bool,
    event_attrs: Int32Array,
    first: int,
    last: int,
    end: Int32Array,
    low: Int64Array,
    high: Int64Array,
    out: Int32Array,
) -> int:
    """Rows of a bucket whose first unused attribute the event carries and may satisfy (figure 4); returns how many.

    An ordered bucket is asked for each attribute of the event: its group is found by binary search, and so is the end of
    the intervals that start in time. `out` int32: room for the largest bucket."""
    start, stop = s.b_start[b], s.b_start[b] + s.b_size[b]
    n = 0
    if not ordered or stop - start <= SHORT:
        for i in range(start, stop):
            a = s.attr[i]
            if a < 0 or (end[a] > 0 and s.lo[i] <= high[a] and s.hi[i] >= low[a]):
                out[n] = s.row[i]
                n += 1
        return n
    at = start
    while at < stop and s.attr[at] < 0:
        out[n] = s.row[at]
        n += 1
        at += 1
    e = first
    while e < last and at < stop:
        a = event_attrs[e]
        e += 1
        while e < last and event_attrs[e] == a:
            e += 1
        if a >= len(end) or s.attr[stop - 1] < a:
            break
        at = structures.bound(s, at, stop, a - 1, (1 << 63) - 1)
        until = structures.bound(s, at, stop, a, high[a])
        for i in range(at, until):
            if s.hi[i] >= low[a]:
                out[n] = s.row[i]
                n += 1
        at = until
    return n


@kernel
def search(
    s: Structures,
    w: Ways,
    c: Columns,
    ordered: bool,
    event_offsets: Int64Array,
    event_attrs: Int32Array,
    event_keys: Int64Array,
    highest: int,
) -> tuple[Int64Array, Int32Array, Int64Array]:
    """All events (figure 2). Returns CSR (offsets int64[n+1], owners int32[m]) and the work done: int64[3] structures and
    buckets visited, rows checked. `highest` > 0: owners lie below it and may come up several times. Reads only."""
    attributes = len(w.kind)
    begin, end = np.zeros(attributes, np.int32), np.zeros(attributes, np.int32)
    low, high = np.empty(attributes, np.int64), np.empty(attributes, np.int64)
    last_event = np.full(highest, -1, np.int64)
    out, n = np.empty(1024, np.int32), 0
    out_offsets = np.zeros(len(event_offsets), np.int64)
    stack = np.empty(1024, np.int32)
    nodes, cells = np.empty(256, np.int32), np.empty(128, np.int64)
    rows, found = np.empty(s.top[structures.LARGEST] + 1, np.int32), np.empty(s.top[structures.BUCKETS] + 1, np.int32)
    work = np.zeros(3, np.int64)
    for e in range(len(event_offsets) - 1):
        first, last = event_offsets[e], event_offsets[e + 1]
        scatter(event_attrs, first, last, begin, end)
        for i in range(first, last):
            a = event_attrs[i]
            if a < attributes:
                low[a] = event_keys[i] if i == begin[a] else min(low[a], event_keys[i])
                high[a] = event_keys[i] if i == begin[a] else max(high[a], event_keys[i])
        stack[0], depth = HEADER, 1
        while depth:
            depth -= 1
            b = stack[depth]
            work[1] += 1
            count = candidates(s, b, ordered, event_attrs, first, last, end, low, high, rows)
            work[2] += count
            for i in range(count):
                row = rows[i]
                owner = c.owners[row]
                if (highest == 0 or last_event[owner] != e) and conjunction_holds(
                    c.first[row], c.last[row], c.attrs, c.ops, c.lo, c.hi, c.sets, event_keys, begin, end
                ):
                    if highest:
                        last_event[owner] = e
                    out = grown(out, n + 1)
                    out[n] = owner
                    n += 1
            if s.b_width[b] == 0:
                continue
            by_event = s.b_width[b] > last - first
            z, i = s.b_below[b], first
            while i < last if by_event else z >= 0:
                if by_event:
                    a = event_attrs[i]
                    i += 1
                    while i < last and event_attrs[i] == a:
                        i += 1
                    at = structures.structure_at(s, b, a) if a < attributes else -1
                else:
                    a, at = s.z_attr[z], z
                    z = s.z_next[z]
                if at >= 0 and end[a] > 0:
                    work[0] += 1
                    count = buckets_found(s, w, at, event_keys, begin[a], end[a], low[a], high[a], nodes, cells, found)
                    stack = grown(stack, depth + count)
                    for j in range(count):
                        stack[depth + j] = found[j]
                    depth += count
        gather(event_attrs, first, last, begin, end)
        out_offsets[e + 1] = n
    return out_offsets, out[:n].copy(), work
