"""Subscriptions and events of Fabret et al., section 6: conjunctions of equalities on few attributes over small domains.

`fixed` attributes occur in every subscription, the rest of its predicates are drawn from the other attributes of its
`focus`; values are uniform on 1 … domain. `hot` narrows the values of the fixed attributes to 1 … hot, in subscriptions
and events alike. Rows come as Arrow tables in the forms that bulk loading reads.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Fabret:
    """A workload; `focus` is the slice of attributes that subscriptions name, its first ones are the fixed ones."""

    attributes: int = 32
    domain: int = 35
    predicates: int = 5
    fixed: int = 2
    inequalities: int = 0
    focus: tuple[int, int] = (0, 32)
    hot: int = 0

    def subscriptions(self, count: int, seed: int, first: int = 0) -> pa.Table:
        """One row per predicate, of subscriptions first … first + count - 1; the last `inequalities` are `<=`."""
        random = np.random.default_rng(seed)
        low, high = self.focus
        others = random.permuted(np.tile(np.arange(low + self.fixed, high), (count, 1)), axis=1)
        fixed = np.tile(np.arange(low, low + self.fixed), (count, 1))
        attributes = np.concatenate([fixed, others[:, : self.predicates - self.fixed]], axis=1)
        values = random.integers(1, self.domain + 1, attributes.shape)
        if self.hot:
            values[:, : self.fixed] = random.integers(1, self.hot + 1, (count, self.fixed))
        operators = np.zeros(attributes.shape, np.int8)
        operators[:, self.predicates - self.inequalities :] = 1
        names = pa.array([f"a{i}" for i in range(self.attributes)], pa.large_string())
        owners = np.repeat(np.arange(first, first + count, dtype=np.int32), self.predicates)
        return pa.table(
            {
                "subscription": owners,
                "conjunction": np.zeros(len(owners), np.int32),
                "attribute": names.take(pa.array(attributes.ravel())),
                "operator": pa.array(["=", "<="], pa.large_string()).take(pa.array(operators.ravel())),
                "integer": values.ravel(),
            }
        )

    def events(self, count: int, seed: int) -> pa.Table:
        """One row per event, all attributes present."""
        random = np.random.default_rng(seed)
        values = random.integers(1, self.domain + 1, (self.attributes, count))
        if self.hot:
            low = self.focus[0]
            values[low : low + self.fixed] = random.integers(1, self.hot + 1, (self.fixed, count))
        return pa.table({f"a{i}": values[i] for i in range(self.attributes)})
