"""A workload with the parameters of BEGen, the generator PUBSUB's paper uses: many attributes, few per subscription.

Subscriptions name about `size` of `attributes` attributes, chosen uniformly or by a Zipf law, each with an equality or a
range over 0..domain-1. An event has about `event_size` attributes. Left to chance hardly anything would match, so a share
of the subscriptions is written for a *core*: ten attributes with fixed values. Every event carries one core and further
attributes at random, and matches all subscriptions of its core: `matching` is that share per core, which is the
probability that an event matches a subscription.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CORE_SIZE = 10


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters. `skew` is the exponent of the Zipf law, 0 for uniform; `spread`: sizes vary by so much."""

    attributes: int = 400
    size: int = 7
    event_size: int = 15
    spread: int = 3
    equality: float = 0.3
    domain: int = 1000
    matching: float = 0.01
    cores: int = 10
    skew: float = 0.0

    @property
    def weights(self) -> NDArray[np.float64]:
        """Probability of each attribute."""
        raw = np.arange(1, self.attributes + 1, dtype=np.float64) ** -self.skew
        return np.asarray(raw / raw.sum(), np.float64)


UNIFORM = Shape()


def distinct(
    chance: np.random.Generator, shape: Shape, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(row, attribute) pairs, by row: row i has sizes[i] different attributes drawn by the shape's weights.

    Attributes are drawn with replacement and repetitions ignored; there are enough draws that a row hardly ever ends short.
    """
    draws = (8 if shape.skew else 2) * int(sizes.max(initial=0)) + 8
    edges = np.cumsum(shape.weights)
    drawn = np.minimum(np.searchsorted(edges, chance.random((len(sizes), draws))), shape.attributes - 1)
    order = np.argsort(drawn, axis=1, kind="stable")
    ascending = np.take_along_axis(drawn, order, axis=1)
    first = np.ones(drawn.shape, bool)
    np.put_along_axis(first, order[:, 1:], ascending[:, 1:] != ascending[:, :-1], axis=1)
    first &= np.cumsum(first, axis=1) <= sizes[:, None]
    row, at = np.nonzero(first)
    return row, drawn[row, at]


def cores(shape: Shape, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(attributes, values) int64[cores, CORE_SIZE] of the cores; the same for subscriptions and events of one seed."""
    chance = np.random.default_rng([seed, 1])
    chosen = [chance.choice(shape.attributes, CORE_SIZE, replace=False, p=shape.weights) for _ in range(shape.cores)]
    return np.array(chosen), chance.integers(0, shape.domain, (shape.cores, CORE_SIZE))


def sizes_about(chance: np.random.Generator, mean: int, spread: int, count: int) -> NDArray[np.int64]:
    """Sizes uniform in mean ± spread, at least 1."""
    return np.maximum(1, chance.integers(mean - spread, mean + spread + 1, count))


def subscriptions(count: int, seed: int, shape: Shape = UNIFORM) -> pa.Table:
    """One row per predicate: `=` with `integer`, or `between` with `integer` and `upper_integer`."""
    chance = np.random.default_rng([seed, 2])
    core_attributes, core_values = cores(shape, seed)
    parts = []
    for start in range(0, count, 20_000):
        rows = min(20_000, count - start)
        sizes = np.minimum(sizes_about(chance, shape.size, shape.spread, rows), CORE_SIZE)
        owner, attribute = distinct(chance, shape, sizes)
        value = chance.integers(0, shape.domain, len(owner))
        core = np.where(chance.random(rows) < shape.matching * shape.cores, chance.integers(0, shape.cores, rows), -1)
        at = np.argsort(chance.random((rows, CORE_SIZE)), axis=1)
        place = np.arange(len(owner)) - np.searchsorted(owner, owner)
        mine = core[owner] >= 0
        chosen = at[owner[mine], place[mine]]
        attribute[mine] = core_attributes[core[owner[mine]], chosen]
        value[mine] = core_values[core[owner[mine]], chosen]
        equal = chance.random(len(owner)) < shape.equality
        below, above = chance.integers(0, shape.domain // 4 + 1, (2, len(owner)))
        low = np.where(equal, value, np.maximum(0, value - below))
        high = np.where(equal, value, np.minimum(shape.domain - 1, value + above))
        parts.append((owner + start, attribute, equal, low, high))
    owner, attribute, equal, low, high = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return pa.table(
        {
            "subscription": owner.astype(np.int32),
            "conjunction": np.zeros(len(owner), np.int32),
            "attribute": attribute_names(shape).take(pa.array(attribute)),
            "operator": pa.array(["between", "="]).take(pa.array(equal.astype(np.int8))),
            "integer": low,
            "upper_integer": pa.array(high, mask=equal),
        }
    )


def events(count: int, seed: int, shape: Shape = UNIFORM) -> pa.Table:
    """One row per value: event, attribute, integer."""
    chance = np.random.default_rng([seed, 3])
    core_attributes, core_values = cores(shape, seed)
    sizes = sizes_about(chance, shape.event_size, shape.spread, count)
    core = chance.integers(0, shape.cores, count)
    has = np.zeros((count, shape.attributes), bool)
    rows = np.arange(count)[:, None]
    has[rows, core_attributes[core]] = True
    event, attribute = distinct(chance, shape, sizes)
    further = ~has[event, attribute]
    event, attribute = event[further], attribute[further]
    place = np.arange(len(event)) - np.searchsorted(event, event)
    kept = place < sizes[event] - CORE_SIZE
    has[event[kept], attribute[kept]] = True
    values = chance.integers(0, shape.domain, has.shape)
    values[rows, core_attributes[core]] = core_values[core]
    event, attribute = np.nonzero(has)
    names = attribute_names(shape).take(pa.array(attribute))
    return pa.table({"event": event, "attribute": names, "integer": values[event, attribute]})


def attribute_names(shape: Shape) -> pa.Array:
    """a0, a1, …"""
    return pa.array([f"a{i}" for i in range(shape.attributes)])
