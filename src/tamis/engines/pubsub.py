"""`pubsub`: PUBSUB (paper 004): rows under their rarest attribute, spread over buckets by a structure chosen per attribute.

Attributes are numbered by how often conjunctions name them, rarest first, when the engine is built and again whenever it
has grown fourfold; attributes first met in between count as the rarest. `structure` = `auto` takes, per attribute, an
interval tree for a declared `int[lo..hi]`, a hash table where only equality is asked, a red-black priority search tree
otherwise. Text predicates arrive as attributes of their own (derived attributes): what finds those in a value is the
structure D of the text's attribute, and each pattern is a bucket it leads to. `text` says which it is: an Aho-Corasick
automaton (`ac`) or the value's suffixes looked up among the sorted patterns (`suffix`).
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tamis.candidates.buckets import layout
from tamis.candidates.buckets.cells import order_all
from tamis.candidates.buckets.change import place_all, take_out, tidy
from tamis.candidates.buckets.search import search
from tamis.candidates.buckets.ways import HASH, IT, LAST_CELL, RBPST, Ways
from tamis.candidates.rows import Rows, arranged, longer
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import IN, MISSING, SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options
from tamis.errors import EngineError, nearest
from tamis.model.schema import IntDomain
from tamis.predicates.text import FINDERS

BUCKET_SIZES = {"events": 5000, "balanced": 512, "churn": 32}
KINDS = {"hash": HASH, "it": IT, "rbpst": RBPST}
ORDERED_FROM = 256  # buckets of this size or more are kept in order; smaller ones cost less unordered
RANK_AGAIN = 4
FIRST_RANKING = 10_000


@dataclass(frozen=True, slots=True)
class PubsubOptions(Options):
    """`profile`: events, balanced or churn, which sets the bucket size unless `bucket_size` does. `structure`: auto, or
    one of it, rbpst, hash for every attribute. `text`: the structure of text attributes, ac or suffix."""

    profile: str = "events"
    bucket_size: int | None = None
    structure: str = "auto"
    text: str = "ac"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("profile", self.profile, list(BUCKET_SIZES)),
            ("structure", self.structure, ["auto", *KINDS]),
            ("text", self.text, list(FINDERS)),
        ):
            if value not in known:
                raise EngineError(
                    f"engine 'pubsub': {name} {value!r} is not one of {', '.join(known)}{nearest(value, known)}"
                )
        if self.bucket_size is not None and self.bucket_size < 1:
            raise EngineError(f"engine 'pubsub': bucket_size = {self.bucket_size} must be at least 1")

    @property
    def text_structure(self) -> str:
        """As chosen."""
        return self.text


class PubsubEngine:
    """Rows, the order of attributes, and the structures."""

    capabilities: ClassVar = Capabilities("attribute structures over buckets, rarest attribute first", "paper 004")
    options_type: ClassVar = PubsubOptions

    def __init__(self, options: PubsubOptions) -> None:
        self.capacity = options.bucket_size or BUCKET_SIZES[options.profile]
        self.ordered = self.capacity >= ORDERED_FROM
        self.text = options.text
        self.forced = KINDS.get(options.structure)
        self.rows = Rows()
        self.leading = np.empty(0, np.int32)
        self.rank = np.empty(0, np.int64)
        self.ways = Ways(np.empty(0, np.uint8), np.empty(0, np.float64), np.empty(0, np.float64))
        self.structures = layout.new_structures()
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
            self.rows, self.structures = Rows(), layout.new_structures()
            self._rank(subscriptions)
            self.ranked_at = len(subscriptions)
            self.rankings += 1
        self._know(subscriptions)
        ordered, leading = arranged(subscriptions, self.rank, absence=False)
        rows = self.rows.add(ordered)
        self.leading = longer(self.leading, self.rows.used)
        self.leading[rows] = leading
        self.structures = layout.with_rows(self.structures, self.rows.used)
        many = len(rows) > self.capacity
        waiting, start = np.empty(self.rows.live + 1, np.int32), np.empty(self.rows.live + 1, np.int32)
        fixed = (self.ways, self.rows.columns, self.leading, rows)
        done = count = 0
        while done < len(rows) or count:
            done, count = place_all(
                self.structures, *fixed, done, waiting, start, count, self.capacity, self.ordered and not many
            )
            if done < len(rows) or count:
                self.structures = layout.enlarged(self.structures)
        if self.ordered and many:
            order_all(self.structures)

    def remove(self, ids: Int32Array) -> None:
        """The inverse."""
        rows = self.rows.drop(ids)
        touched = take_out(self.structures, rows)
        done = 0
        while done < len(touched):
            fixed = (self.ways, self.rows.columns, self.leading, touched)
            done = tidy(self.structures, *fixed, done, self.capacity, self.ordered)
            if done < len(touched):
                top = self.structures.top
                top[layout.LARGEST] = max(top[layout.LARGEST], self.capacity)
                self.structures = layout.enlarged(self.structures)

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
            "structures": int(top[layout.LIVE_STRUCTURES]),
            "buckets": int(top[layout.LIVE_BUCKETS]),
            "largest_bucket": int(s.b_size[: top[layout.BUCKETS]][s.b_level[: top[layout.BUCKETS]] >= 0].max()),
            "structures_visited": int(self.visited[0]),
            "buckets_visited": int(self.visited[1]),
            "attributes_by_structure": {
                "hash": int(kinds[HASH]) - self.derived,
                "it": int(kinds[IT]),
                "rbpst": int(kinds[RBPST]),
                self.text: self.derived,
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
