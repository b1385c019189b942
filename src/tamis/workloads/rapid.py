"""The binary model of RAPIDMatch's paper: k properties that an event has or has not.

A subscription wants each property present, wants it missing, or does not care. In the Light Query Model an event has t
properties with probability proportional to t^-alpha, any t of them; in the exponential model it has each with
probability p. Subscriptions come as a table of predicates, events as a table of (event, attribute, integer).
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PROPERTIES = 100


def property_names(properties: int) -> pa.Array:
    """p0, p1, …"""
    return pa.array([f"p{i}" for i in range(properties)])


def subscriptions(
    count: int, seed: int, *, properties: int = PROPERTIES, one: float = 0.05, zero: float = 0.05
) -> pa.Table:
    """`count` subscriptions that want a property with probability `one` and want it missing with probability `zero`."""
    chance = np.random.default_rng(seed)
    parts = []
    for start in range(0, count, 50_000):
        draw = chance.random((min(50_000, count - start), properties), np.float32)
        row, column = np.nonzero(draw < one + zero)
        parts.append((row + start, column, draw[row, column] < one))
    owner, column, wanted = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    idle = np.setdiff1d(np.arange(count), owner)  # no property at all: a subscription to everything
    names = property_names(properties).take(pa.array(column))
    operators = pa.array(["missing", "exists"]).take(pa.array(wanted.astype(np.int8)))
    nothing = pa.nulls(len(idle), pa.string())
    return pa.table(
        {
            "subscription": np.concatenate([owner, idle]).astype(np.int32),
            "conjunction": np.zeros(len(owner) + len(idle), np.int32),
            "attribute": pa.concat_arrays([names, nothing]),
            "operator": pa.concat_arrays([operators, nothing]),
        }
    )


def light_events(count: int, seed: int, *, alpha: float, properties: int = PROPERTIES) -> pa.Table:
    """Events of the Light Query Model."""
    chance = np.random.default_rng(seed)
    weights = np.arange(1, properties + 1) ** -float(alpha)
    sizes = chance.choice(np.arange(1, properties + 1), count, p=weights / weights.sum())
    order = np.argsort(chance.random((count, properties)), axis=1)
    return events_table(order, np.arange(properties) < sizes[:, None], properties)


def exponential_events(count: int, seed: int, *, p: float, properties: int = PROPERTIES) -> pa.Table:
    """Events of the exponential model; one without any property would be no row, so it gets one at random."""
    chance = np.random.default_rng(seed)
    has = chance.random((count, properties)) < p
    empty = np.flatnonzero(~has.any(axis=1))
    has[empty, chance.integers(0, properties, len(empty))] = True
    return events_table(np.broadcast_to(np.arange(properties), has.shape), has, properties)


def events_table(columns: NDArray[np.int64], kept: NDArray[np.bool_], properties: int) -> pa.Table:
    """Rows (event, attribute, 1) for the columns kept in each row of a matrix."""
    event, at = np.nonzero(kept)
    names = property_names(properties).take(pa.array(columns[event, at]))
    return pa.table({"event": event, "attribute": names, "integer": np.ones(len(event), np.int64)})
