"""`rapid`: RAPIDMatch (paper 001, section 4): search trees chosen by how many attributes an event carries, and where.

An event with at most `light` attributes searches a tree that holds only conjunctions able to match so few, and that skips
a whole block of properties the event has none of. Each conjunction stands in up to O(light^2) trees: memory for speed.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from tamis.candidates.presence.index import PresenceForest
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options
from tamis.errors import EngineError


@dataclass(frozen=True, slots=True)
class RapidOptions(Options):
    """`light`: the paper's c, the largest number of attributes for which trees are kept."""

    light: int = 8

    def __post_init__(self) -> None:
        if not 0 <= self.light <= 64:
            raise EngineError(f"engine 'rapid': light = {self.light} is outside 0..64; each step adds trees and memory")


class RapidEngine:
    """A forest with trees for light events."""

    capabilities: ClassVar = Capabilities("search trees by number and place of the attributes present", "paper 001")
    options_type: ClassVar = RapidOptions

    def __init__(self, forest: PresenceForest) -> None:
        self.forest = forest

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: RapidOptions) -> Self:
        """All trees."""
        return cls(PresenceForest(subscriptions, options.light))

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """A path per conjunction and tree; new attributes beyond the properties known rebuild the forest."""
        self.forest.add(subscriptions)

    def remove(self, ids: Int32Array) -> None:
        """The inverse, path by path."""
        self.forest.drop(ids)

    def match(self, events: EventBatch) -> MatchSet:
        """Count the event's attributes, find a block without any, search that tree."""
        return self.forest.match(events)

    def stats(self) -> EngineStats:
        """Trees, nodes, standings (rows summed over trees) and the work done."""
        f = self.forest
        details = {
            "trees": len(f.trees.roots),
            "nodes": f.nodes,
            "nodes_visited": f.visited,
            "standings": int(f.trees.held.sum()),
            "properties": f.k,
            "rebuilds": f.rebuilds,
        }
        return EngineStats(f.rows.owners, f.rows.live, f.nbytes, f.events, f.checked, f.matches, details)
