"""`Rebuilding`: an engine that is only built whole, made to follow changes by building it again before the next match."""

from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Engine, EngineStats, Options, Updatable


class Rebuilding:
    """Keeps the table beside the engine; a change drops the engine, a match builds it."""

    def __init__(self, kind: type[Engine], table: SubscriptionTable, options: Options) -> None:
        self.kind, self.options, self.table = kind, options, table
        self.engine: Engine | None = None
        self.rebuilds = 0

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """Append to the table."""
        self.table, self.engine = SubscriptionTable.concat([self.table, subscriptions]), None

    def remove(self, ids: Int32Array) -> None:
        """Filter the table."""
        self.table, self.engine = self.table.without(ids), None

    def match(self, events: EventBatch) -> MatchSet:
        """Match with the engine over the present table."""
        return self.current().match(events)

    def stats(self) -> EngineStats:
        """The engine's own, since its last rebuild."""
        stats = self.current().stats()
        stats.details["rebuilds"] = self.rebuilds
        return stats

    def current(self) -> Engine:
        """The engine, built again if the table changed."""
        if self.engine is None:
            self.engine = self.kind.build(self.table, self.options)
            self.rebuilds += 1
        return self.engine


def updatable(kind: type[Engine], table: SubscriptionTable, options: Options) -> Updatable:
    """An engine of this kind that can be changed, by its own means or by rebuilding."""
    if kind.capabilities.incremental:
        built = kind.build(table, options)
        assert isinstance(built, Updatable), f"{kind.__name__} says it is incremental"
        return built
    return Rebuilding(kind, table, options)
