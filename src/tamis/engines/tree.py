"""`tree`: TreeMatch (paper 001, section 3): one restricted search tree over the presence of attributes.

Values are verified at the leaves; conjunctions that ask only for presence and absence need no verification.
"""

from typing import ClassVar, Self

from tamis.candidates.presence.index import PresenceForest
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options


class TreeEngine:
    """A forest with no trees for light events: only the one over all properties."""

    capabilities: ClassVar = Capabilities("search tree over the attributes present", "paper 001, TreeMatch")
    options_type: ClassVar = Options

    def __init__(self, forest: PresenceForest) -> None:
        self.forest = forest

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """One tree."""
        return cls(PresenceForest(subscriptions, light=-1))

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """A path per conjunction."""
        self.forest.add(subscriptions)

    def remove(self, ids: Int32Array) -> None:
        """The inverse, path by path."""
        self.forest.drop(ids)

    def match(self, events: EventBatch) -> MatchSet:
        """Follow the event's own values and *."""
        return self.forest.match(events)

    def stats(self) -> EngineStats:
        """Nodes and the work done."""
        f = self.forest
        details = {"nodes": f.nodes, "nodes_visited": f.visited, "properties": f.k}
        return EngineStats(f.rows.owners, f.rows.live, f.nbytes, f.events, f.checked, f.matches, details)
