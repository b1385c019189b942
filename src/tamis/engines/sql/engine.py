"""`sql`: matching inside a database, by the two strategies of the first paper (section 4).

    sequential   every predicate of every conjunction is a row; filter rows by the event's pairs, group, compare counts
    grouping     equal predicates are stored once; evaluate each once, join with the conjunctions that use it, compare counts

The event (or a whole batch of events) is a parameter relation of a prepared statement. The same SQL runs on DuckDB, embedded,
and on PostgreSQL (`database="postgresql", dsn=…`). Predicates that ask about *all* values of an attribute, its absence, or sets
are not rows; conjunctions that have any are finished by `verify`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamis.candidates.verify import verify_pairs
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import IN, OUT, SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options
from tamis.engines.sql.database import Database, connect
from tamis.errors import EngineError

EVENT_PAIRS = "SELECT * FROM (SELECT unnest({0}) AS event, unnest({1}) AS attr, unnest({2}) AS key) AS pairs"
HOLDS = "ev.attr = p.attr AND (ev.key BETWEEN p.lo AND p.hi) = p.inside"
QUERIES = {
    "sequential": f"""
        WITH ev AS ({EVENT_PAIRS}),
             hits AS (SELECT DISTINCT ev.event, p.sid, p.pid, p.cnt FROM ev JOIN {{schema}}.rows AS p ON {HOLDS})
        SELECT event, sid FROM hits GROUP BY event, sid, cnt HAVING count(*) = cnt ORDER BY event""",
    "grouping": f"""
        WITH ev AS ({EVENT_PAIRS}),
             hits AS (SELECT DISTINCT ev.event, p.pid FROM ev JOIN {{schema}}.preds AS p ON {HOLDS})
        SELECT h.event, s.sid FROM hits AS h
        JOIN {{schema}}.subs_preds AS sp ON sp.pid = h.pid JOIN {{schema}}.subs AS s ON s.sid = sp.sid
        GROUP BY h.event, s.sid, s.cnt HAVING count(*) = s.cnt ORDER BY h.event""",
}
TABLES = {
    "sequential": {"rows": "sid INTEGER, pid INTEGER, cnt INTEGER, attr INTEGER, inside BOOLEAN, lo BIGINT, hi BIGINT"},
    "grouping": {
        "subs": "sid INTEGER, cnt INTEGER",
        "preds": "pid INTEGER, attr INTEGER, inside BOOLEAN, lo BIGINT, hi BIGINT",
        "subs_preds": "sid INTEGER, pid INTEGER",
    },
}
INDEXES = {"rows": "attr", "subs": "sid", "preds": "attr", "subs_preds": "pid"}


@dataclass(frozen=True, slots=True)
class SqlOptions(Options):
    """`dsn` names a PostgreSQL server; each engine works in a schema of its own and drops it at the end."""

    strategy: str = "grouping"
    database: str = "duckdb"
    dsn: str = ""

    def __post_init__(self) -> None:
        if self.strategy not in QUERIES:
            raise EngineError(f"engine 'sql' has no strategy {self.strategy!r} (strategies: {', '.join(QUERIES)})")


class SqlEngine:
    """Conjunctions as rows of a database; `sid` is the row of the table kept beside it for verification."""

    capabilities: ClassVar = Capabilities("matching by SQL inside DuckDB or PostgreSQL", "TOPSS, section 4")
    options_type: ClassVar = SqlOptions

    def __init__(self, table: SubscriptionTable, options: SqlOptions) -> None:
        self.strategy = options.strategy
        self.database: Database = connect(options.database, options.dsn)
        self.query = self.database.prepare(QUERIES[self.strategy])
        for name, columns in TABLES[self.strategy].items():
            self.database.create(name, columns)
        self.table = SubscriptionTable.empty(table.dictionary)
        self.live = self.rowless = np.zeros(0, np.bool_)
        self.predicate_ids: dict[tuple[int, bool, int, int], int] = {}
        self.loaded_predicates = 0
        self.events = self.candidates = self.matches = 0
        self.insert(table)
        for name in TABLES[self.strategy]:
            self.database.index(name, INDEXES[name])

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """Create the tables and load them in bulk."""
        assert isinstance(options, SqlOptions)
        return cls(subscriptions, options)

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """Append rows."""
        base = len(self.table)
        self.table = SubscriptionTable.concat([self.table, subscriptions])
        self.live = np.concatenate([self.live, np.ones(len(subscriptions), np.bool_)])
        new = subscriptions
        owner = np.repeat(np.arange(len(new), dtype=np.int32) + base, np.diff(new.offsets))
        row = (new.ops == IN) | (new.ops == OUT)
        sid, attr, inside, lo, hi = owner[row], new.attrs[row], new.ops[row] == IN, new.lo[row], new.hi[row]
        keep, pid = self._predicate_ids(sid, attr, inside, lo, hi)
        counts = np.bincount(sid[keep] - base, minlength=len(new)).astype(np.int32)
        self.rowless = np.concatenate([self.rowless, counts == 0])
        if self.strategy == "sequential":
            columns = (sid, pid, counts[sid - base] if len(sid) else sid, attr, inside, lo, hi)
            self.database.load("rows", tuple(column[keep] for column in columns))
            return
        fresh = np.unique(pid, return_index=True)[1]
        fresh = fresh[pid[fresh] >= self.loaded_predicates]
        self.database.load("preds", tuple(column[fresh] for column in (pid, attr, inside, lo, hi)))
        self.loaded_predicates = len(self.predicate_ids)
        self.database.load("subs_preds", (sid[keep], pid[keep]))
        with_rows = np.flatnonzero(counts).astype(np.int32)
        self.database.load("subs", (with_rows + base, counts[with_rows]))

    def remove(self, ids: Int32Array) -> None:
        """Delete the rows of these subscriptions; predicates of the `grouping` strategy stay, for others to share."""
        gone = self.live & np.isin(self.table.owners, ids)
        self.live &= ~gone
        sids = np.flatnonzero(gone).astype(np.int32)
        for name in TABLES[self.strategy]:
            if name != "preds":
                self.database.delete(name, sids)

    def match(self, events: EventBatch) -> MatchSet:
        """One query for the whole batch, then verification of what SQL left open."""
        t = self.table
        numbers = np.repeat(np.arange(len(events), dtype=np.int64), np.diff(events.offsets))
        found_events, found_rows = self.database.ask(self.query, (numbers, events.attrs, events.keys))
        open_events, open_rows = self._without_rows(len(events))
        event, row = np.concatenate([found_events, open_events]), np.concatenate([found_rows, open_rows])
        order = np.argsort(event, kind="stable")
        event, row = event[order], row[order]
        columns = (t.offsets, t.attrs, t.ops, t.lo, t.hi, t.sets, events.offsets, events.attrs, events.keys)
        holds = verify_pairs(event, row, *columns, len(t.dictionary))
        event, owner = np.divmod(np.unique((event[holds] << 32) + t.owners[row[holds]]), 1 << 32)
        self.events += len(events)
        self.candidates += len(holds)
        self.matches += len(event)
        offsets = np.searchsorted(event, np.arange(len(events) + 1)).astype(np.int64)
        return MatchSet(offsets, owner.astype(np.int32))

    def stats(self) -> EngineStats:
        """Rows live; bytes are those of the database's tables and of the table kept beside it."""
        owners = self.table.owners[self.live]
        details = {"database": self.database.name, "strategy": self.strategy, "predicates": len(self.predicate_ids)}
        held = self.table.nbytes + self.database.bytes_held()
        counters = (self.events, self.candidates, self.matches)
        return EngineStats(len(np.unique(owners)), len(owners), held, *counters, details)

    def _without_rows(self, events: int) -> tuple[Int64Array, Int64Array]:
        """Conjunctions no query can find because none of their predicates is a row: candidates of every event."""
        rest = np.flatnonzero(self.live & self.rowless)
        return np.repeat(np.arange(events), len(rest)), np.tile(rest, events)

    def _predicate_ids(
        self, sid: Int32Array, attr: Int32Array, inside: NDArray[np.bool_], lo: Int64Array, hi: Int64Array
    ) -> tuple[NDArray[np.bool_], Int32Array]:
        """Ids shared by equal predicates, and which rows are the first of their (conjunction, predicate)."""
        code = grouped(grouped(grouped(attr, inside), lo), hi)
        distinct, first, where = np.unique(code, return_index=True, return_inverse=True)
        columns = (column[first].tolist() for column in (attr, inside, lo, hi))
        known = self.predicate_ids
        ids = np.array([known.setdefault(key, len(known)) for key in zip(*columns, strict=True)], np.int32)
        pid = ids[where] if len(distinct) else np.zeros(0, np.int32)
        keep = np.zeros(len(sid), np.bool_)
        keep[np.unique(sid.astype(np.int64) * len(known) + pid, return_index=True)[1]] = True
        return keep, pid


def grouped(left: NDArray[Any], right: NDArray[Any]) -> Int64Array:
    """One number for each pair of values, the same for equal pairs."""
    codes = [np.unique(column, return_inverse=True)[1].astype(np.int64) for column in (left, right)]
    return codes[0] * (codes[1].max(initial=0) + 1) + codes[1]
