"""Rows in SQLite: one file, write-ahead log, every commit on the disk before it is acknowledged.

One connection writes, inside groups: `begin`, any number of calls, `commit` or `rollback`. Other threads read through
connections of their own and see committed groups only. Checkpoints are made here, after a commit and not inside it, so that
an error in one is seen. A file with a broken structure or a row whose seal does not fit is refused when it is opened.
"""

from collections.abc import Iterator
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw

from tamis.broker.rows import Attempt, Delivery, Event, Key, Notification, Subscription, pack, seal
from tamis.errors import StorageError

FORMAT = 2
CHECKPOINT_PAGES = 4000
PAGE_BYTES = 1 << 20
COLUMNS = ", ".join(field.name for field in fields(Subscription))
SCHEMA = """
CREATE TABLE subscriptions(
  number INTEGER PRIMARY KEY AUTOINCREMENT, ticket BLOB, filter TEXT, owner TEXT, created INT, expires INT, ended INT,
  cursor INT, replay_from INT, replay_to INT, webhook TEXT, secret TEXT, seal INT);
CREATE INDEX subscriptions_ended ON subscriptions(ended) WHERE ended > 0;
CREATE TABLE events(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, published INT, valid_until INT, body BLOB, seal INT);
CREATE INDEX events_valid ON events(seq) WHERE valid_until > published;
CREATE TABLE notifications(subscription INT, n INT, event INT, seal INT, PRIMARY KEY(subscription, n)) WITHOUT ROWID;
CREATE INDEX notifications_event ON notifications(event);
CREATE TABLE dead_letters(
  subscription INT, n INT, event INT, reason TEXT, buried INT, seal INT, PRIMARY KEY(subscription, n)) WITHOUT ROWID;
CREATE INDEX dead_letters_event ON dead_letters(event);
CREATE INDEX dead_letters_buried ON dead_letters(buried);
CREATE TABLE keys(digest BLOB PRIMARY KEY, content BLOB, event INT, matched INT, expires INT, seal INT) WITHOUT ROWID;
CREATE INDEX keys_expires ON keys(expires);
CREATE TABLE attempts(subscription INTEGER PRIMARY KEY, n INT, made INT, due INT, seal INT);
"""
TABLES = ("subscriptions", "events", "notifications", "dead_letters", "keys", "attempts")


class Store:
    """A `Ledger` on disk, or in memory for the path `:memory:`."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        try:
            self.db = connect(self.path)
        except apsw.Error as problem:
            raise StorageError(f"{self.path} cannot be opened: {problem}") from problem
        try:
            self._prepare()
        except (apsw.Error, ValueError, TypeError, OverflowError) as problem:  # damage shows in many ways
            self.db.close(True)
            raise StorageError(f"{self.path} cannot be read: {problem}; restore it from a backup") from problem
        except StorageError:
            self.db.close(True)
            raise

    def _prepare(self) -> None:
        run = self.db.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run("PRAGMA wal_autocheckpoint=0")
        found = run("PRAGMA user_version").get
        if found == 0 and not run("SELECT count(*) FROM sqlite_schema").get:
            with self.db:
                run(SCHEMA)
                run(f"PRAGMA user_version={FORMAT}")
        elif found != FORMAT:
            raise StorageError(f"{self.path} has format {found}, this version of tamis reads {FORMAT}")
        self.check()

    def check(self) -> None:
        """Refuse a file whose structure or rows are damaged."""
        report = self.db.execute("PRAGMA integrity_check(1)").get
        if report != "ok":
            raise StorageError(f"{self.path} is damaged: {report}; restore it from a backup")
        for table in TABLES:
            for row in self.db.execute(f"SELECT * FROM {table}"):
                if crc32(pack(row[:-1])) != row[-1]:
                    raise StorageError(f"{self.path} is damaged: {table} row {row[:2]}; restore it from a backup")

    def reader(self) -> "Store":
        """The same file through another connection, for reading in another thread."""
        twin = object.__new__(Store)
        twin.path, twin.db = self.path, connect(self.path, apsw.SQLITE_OPEN_READONLY)
        return twin

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()

    # ── groups ──
    def begin(self) -> None:
        """Start a group of changes."""
        self.db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make the group durable; returns when the disk has it."""
        self.db.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the group, if SQLite has not done so itself."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def checkpoint(self) -> None:
        """Move the log into the file when it has grown."""
        wal = Path(self.path + "-wal")
        if self.path != ":memory:" and wal.exists() and wal.stat().st_size > CHECKPOINT_PAGES * 4096:
            self.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    # ── subscriptions ──
    def conditions(self) -> Iterator[tuple[int, str]]:
        """(number, filter) of every subscription that has not ended, by number."""
        yield from self.db.execute("SELECT number, filter FROM subscriptions WHERE ended = 0 ORDER BY number")

    def standings(self) -> Iterator[tuple[int, int, int, bool, bool]]:
        """(number, end, cursor, has it a webhook, is it still replayed to) of the same."""
        yield from self.db.execute(
            "SELECT number, expires, cursor, webhook IS NOT NULL, replay_from < replay_to"
            " FROM subscriptions WHERE ended = 0 ORDER BY number"
        )

    def subscription(self, number: int) -> Subscription | None:
        """One, if it is there."""
        row = self.db.execute(f"SELECT {COLUMNS} FROM subscriptions WHERE number=?", (number,)).get
        return Subscription(*row) if row else None

    def put(self, row: Subscription) -> None:
        """Write a new subscription or all of an old one."""
        values = astuple(row)
        marks = ",".join("?" * (len(values) + 1))
        self.db.execute(f"INSERT OR REPLACE INTO subscriptions VALUES({marks})", (*values, seal(*values)))

    def drop(self, number: int) -> None:
        """Forget a subscription, its queue and its dead letters."""
        for table, column in (
            ("subscriptions", "number"),
            ("notifications", "subscription"),
            ("dead_letters", "subscription"),
            ("attempts", "subscription"),
        ):
            self.db.execute(f"DELETE FROM {table} WHERE {column}=?", (number,))

    def ended_before(self, before: int, limit: int) -> list[int]:
        """Subscriptions that ended before a time."""
        found = self.db.execute(
            "SELECT number FROM subscriptions WHERE ended > 0 AND ended < ? LIMIT ?", (before, limit)
        )
        return [number for (number,) in found]

    def counters(self) -> tuple[int, int, int]:
        """The highest subscription number and event ever given, and the time of the latest event."""
        given = dict(self.db.execute("SELECT name, seq FROM sqlite_sequence"))
        latest = self.db.execute("SELECT published FROM events ORDER BY seq DESC LIMIT 1").get
        return given.get("subscriptions", 0), given.get("events", 0), latest or 0

    # ── events and queues ──
    def tails(self) -> Iterator[tuple[int, int]]:
        """(subscription, highest notification) of every queue that has rows."""
        yield from self.db.execute("SELECT subscription, max(n) FROM notifications GROUP BY subscription")

    def add(self, events: list[Event], notifications: list[Notification], keys: list[Key]) -> None:
        """Events, their notifications and their idempotency keys."""
        many = self.db.executemany
        many("INSERT INTO events VALUES(?,?,?,?,?)", ((*row, seal(*row)) for row in events))
        many("INSERT INTO notifications VALUES(?,?,?,?)", ((*row, seal(*row)) for row in notifications))
        many("INSERT OR REPLACE INTO keys VALUES(?,?,?,?,?,?)", ((*row, seal(*row)) for row in keys))

    def key(self, digest: bytes) -> Key | None:
        """What an idempotency key was used for."""
        row = self.db.execute("SELECT digest, content, event, matched, expires FROM keys WHERE digest=?", (digest,)).get
        return Key(*row) if row else None

    def event(self, seq: int) -> Event | None:
        """One event, if it is still kept."""
        row = self.db.execute("SELECT seq, published, valid_until, body FROM events WHERE seq=?", (seq,)).get
        return Event(*row) if row else None

    def valid_events(self, after: int, upto: int, now: int, limit: int) -> list[Event]:
        """Events after `after` up to `upto` that are still valid, oldest first."""
        found = self.db.execute(
            "SELECT seq, published, valid_until, body FROM events INDEXED BY events_valid"
            " WHERE seq > ? AND seq <= ? AND valid_until > published AND valid_until > ? ORDER BY seq LIMIT ?",
            (after, upto, now, limit),
        )
        return [Event(*row) for row in found]

    def notified(self, number: int, first: int, last: int) -> set[int]:
        """Which events between two have a notification in this queue, acknowledged or not."""
        sql = "SELECT event FROM notifications WHERE subscription=? AND event BETWEEN ? AND ?"
        return {event for (event,) in self.db.execute(sql, (number, first, last))}

    def page(self, number: int, after: int, limit: int) -> list[Delivery]:
        """The next notifications of a queue, at most `limit` of them and about `PAGE_BYTES`."""
        found = self.db.execute(
            "SELECT n, seq, published, valid_until, body, e.seal FROM notifications JOIN events e ON seq = event"
            " WHERE subscription=? AND n > ? ORDER BY n LIMIT ?",
            (number, after, limit),
        )
        page, size = list[Delivery](), 0
        for n, *row, stored in found:
            page.append(Delivery(n, self._sealed(Event(*row), stored)))
            size += len(page[-1].event.body)
            if size >= PAGE_BYTES:
                break
        return page

    def _sealed(self, event: Event, stored: int) -> Event:
        if seal(*event) != stored:
            raise StorageError(f"{self.path} is damaged: event {event.seq}; restore it from a backup")
        return event

    # ── webhooks ──
    def attempt(self, number: int) -> Attempt | None:
        """The last offer to a webhook that was not taken."""
        row = self.db.execute("SELECT subscription, n, made, due FROM attempts WHERE subscription=?", (number,)).get
        return Attempt(*row) if row else None

    def put_attempt(self, row: Attempt) -> None:
        """Remember an offer that was not taken, in place of the one before."""
        self.db.execute("INSERT OR REPLACE INTO attempts VALUES(?,?,?,?,?)", (*row, seal(*row)))

    # ── dead letters ──
    def bury(self, number: int, after: int, upto: int, reason: str, now: int) -> int:
        """Copy notifications after `after` up to `upto` to the dead letters; returns how many."""
        sql = "SELECT subscription, n, event FROM notifications WHERE subscription=? AND n > ? AND n <= ?"
        rows: list[tuple[Any, ...]] = [(*row, reason, now) for row in self.db.execute(sql, (number, after, upto))]
        sql = "INSERT OR REPLACE INTO dead_letters VALUES(?,?,?,?,?,?)"
        self.db.executemany(sql, ((*row, seal(*row)) for row in rows))
        return len(rows)

    def dead_letters(self, number: int, after: int, limit: int) -> list[Delivery]:
        """The next dead letters of a subscription."""
        found = self.db.execute(
            "SELECT n, seq, published, valid_until, body, reason, buried FROM dead_letters JOIN events ON seq = event"
            " WHERE subscription=? AND n > ? ORDER BY n LIMIT ?",
            (number, after, limit),
        )
        return [Delivery(n, Event(*row), reason, buried) for n, *row, reason, buried in found]

    # ── what is no longer needed ──
    def trim_acknowledged(self, number: int, cursor: int, now: int) -> bool:
        """Delete acknowledged notifications of events no longer valid; whether none is left to delete later."""
        self.db.execute(
            "DELETE FROM notifications WHERE subscription=? AND n <= ?"
            " AND NOT EXISTS (SELECT 1 FROM events WHERE seq = event AND valid_until > ?)",
            (number, cursor, now),
        )
        sql = "SELECT 1 FROM notifications WHERE subscription=? AND n <= ? LIMIT 1"
        return self.db.execute(sql, (number, cursor)).get is None

    def trim_events(self, after: int, published_before: int, now: int, limit: int) -> int:
        """Look at `limit` events after `after`, delete those nobody needs; returns the last one looked at, 0 at the end."""
        sql = "SELECT seq FROM events WHERE seq > ? AND published < ? ORDER BY seq LIMIT ?"
        seen = [seq for (seq,) in self.db.execute(sql, (after, published_before, limit))]
        if not seen:
            return 0
        self.db.execute(
            "DELETE FROM events WHERE seq BETWEEN ? AND ? AND published < ? AND valid_until <= ?"
            " AND NOT EXISTS (SELECT 1 FROM notifications WHERE event = seq)"
            " AND NOT EXISTS (SELECT 1 FROM dead_letters WHERE event = seq)",
            (seen[0], seen[-1], published_before, now),
        )
        return int(seen[-1])

    def trim_old(self, keys_before: int, dead_before: int, limit: int) -> None:
        """Delete idempotency keys and dead letters that are past their time."""
        run = self.db.execute
        sql = "DELETE FROM keys WHERE digest IN (SELECT digest FROM keys WHERE expires < ? LIMIT ?)"
        run(sql, (keys_before, limit))
        sql = "SELECT subscription, n FROM dead_letters WHERE buried < ? LIMIT ?"
        old = list(run(sql, (dead_before, limit)))
        self.db.executemany("DELETE FROM dead_letters WHERE subscription=? AND n=?", old)


def connect(path: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """A connection that waits a little for a lock instead of failing at once."""
    db = apsw.Connection(path, flags)
    db.set_busy_timeout(5000)
    db.execute("PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536")
    return db
