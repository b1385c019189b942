"""Subscriptions and events of the TOPSS paper (section 5.1): conjunctions over finite integer domains, uniform values.

The numbers of the paper's workload specification did not survive in its text. Ten attributes of ten values under the four
operators `= != < >` make 400 different predicates, and a bit matrix of 400 × 5 M bits takes the 248 MB the paper reports.
Rows come as Arrow tables in the forms that bulk loading reads.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

OPERATORS = ("=", "!=", "<", ">")


@dataclass(frozen=True, slots=True)
class Topss:
    """A workload; attribute i has values 0 … domains[i % len(domains)] - 1."""

    attributes: int = 10
    predicates: int = 5
    domains: tuple[int, ...] = (10,)

    def domain(self, attribute: int) -> int:
        """How many values an attribute has."""
        return self.domains[attribute % len(self.domains)]

    @property
    def distinct(self) -> int:
        """How many different predicates there are."""
        return len(OPERATORS) * sum(self.domain(i) for i in range(self.attributes))

    def subscriptions(self, count: int, seed: int, first: int = 0) -> pa.Table:
        """One row per predicate, of subscriptions first … first + count - 1, on different attributes each."""
        random = np.random.default_rng(seed)
        attributes = np.argsort(random.random((count, self.attributes), np.float32), axis=1)[:, : self.predicates]
        sizes = np.array([self.domain(i) for i in range(self.attributes)])[attributes]
        values = (random.random(attributes.shape) * sizes).astype(np.int64)
        operators = random.integers(0, len(OPERATORS), attributes.shape)
        return self.rows(np.repeat(np.arange(first, first + count), self.predicates), attributes, operators, values)

    def single_predicates(self, count: int, seed: int) -> pa.Table:
        """`count` different predicates, each a subscription of its own."""
        if count > self.distinct:
            raise ValueError(f"there are only {self.distinct} different predicates, not {count}")
        chosen = np.random.default_rng(seed).choice(self.distinct, count, replace=False)
        edges = np.cumsum([0] + [len(OPERATORS) * self.domain(i) for i in range(self.attributes)])
        attributes = np.searchsorted(edges, chosen, side="right") - 1
        values, operators = np.divmod(chosen - edges[attributes], len(OPERATORS))
        return self.rows(np.arange(count), attributes, operators, values)

    def rows(
        self, owners: np.ndarray, attributes: np.ndarray, operators: np.ndarray, values: np.ndarray
    ) -> pa.Table:  # fmt: skip
        """Predicates as a table."""
        names = pa.array([f"a{i}" for i in range(self.attributes)], pa.large_string())
        return pa.table(
            {
                "subscription": owners.astype(np.int32),
                "conjunction": np.zeros(len(owners), np.int32),
                "attribute": names.take(pa.array(attributes.ravel())),
                "operator": pa.array(OPERATORS, pa.large_string()).take(pa.array(operators.ravel())),
                "integer": values.ravel(),
            }
        )

    def events(self, count: int, seed: int) -> pa.Table:
        """One row per event, all attributes present."""
        random = np.random.default_rng([seed, 1])
        return pa.table({f"a{i}": random.integers(0, self.domain(i), count) for i in range(self.attributes)})
