"""`propagation`: each conjunction waits under one of its equality predicates (Fabret et al., section 2).

Of its equality predicates it takes the one that leads to the fewest conjunctions so far, which keeps the clusters even. With
`prefetch` the kernels ask for columns ahead of reading them.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tamis.candidates.access import lightest
from tamis.candidates.clusters.placing import WIDEST, Choice
from tamis.encoding.keys import Int32Array
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Capabilities, Options
from tamis.engines.clustered import Clustered
from tamis.engines.twostage import check_index


@dataclass(frozen=True, slots=True)
class PropagationOptions(Options):
    """`prefetch` on or off; `index` of stage one."""

    prefetch: bool = True
    index: str = "sorted"

    def __post_init__(self) -> None:
        check_index("propagation", self.index)


class PropagationEngine(Clustered):
    """Clusters under single equality predicates, never revised."""

    capabilities: ClassVar = Capabilities(
        "clusters under one equality predicate each, read by columns", "Fabret et al."
    )
    options_type: ClassVar = PropagationOptions

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """An empty engine that then takes everything in."""
        assert isinstance(options, PropagationOptions)
        engine = cls(subscriptions.dictionary, options.index, options.prefetch)
        engine.insert(subscriptions)
        return engine

    def choose(self, ids: Int32Array) -> Choice:
        """The equality predicate with the least behind it; chances play no part."""
        single = self.access.single
        load = np.where(single >= 0, self.access.rows[single], 0).astype(np.int64)
        keys, chance = lightest(self.population(), ids, WIDEST, load)
        return Choice(keys, np.zeros(len(ids), np.int32), chance)
