"""The reference workloads are what they say: sizes, shares, and the same columns every time."""

from dataclasses import replace

import numpy as np
import pytest

from tamis.workloads.reference import WORKLOADS, draw, generate, subsets


def hold(columns, event):
    """How many subscriptions an event satisfies, by brute force."""
    first, last = columns.event_offsets[event], columns.event_offsets[event + 1]
    dense = np.full(columns.parameters.attributes, -1)
    dense[columns.event_attrs[first:last]] = columns.event_values[first:last]
    value = dense[columns.attrs]
    return int(np.logical_and.reduceat((value >= columns.low) & (value <= columns.high), columns.offsets[:-1]).sum())


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_shape(name):
    columns = draw(replace(WORKLOADS[name], subscriptions=3000, events=50))
    given = columns.parameters
    sizes = np.diff(columns.offsets)
    assert sizes.min() >= given.predicates[0]
    assert sizes.max() <= given.predicates[1]
    assert np.all(columns.low <= columns.high)
    assert columns.high.max() < given.values
    assert abs(np.mean(columns.low == columns.high) - given.equality) < 0.05
    rows = np.repeat(np.arange(3000), sizes)
    assert len(np.unique(rows * given.attributes + columns.attrs)) == len(rows)


def test_the_wanted_share_matches():
    columns = draw(replace(WORKLOADS["uniform-100k"], subscriptions=20_000, match=1e-3, themes=50, events=200))
    matches = np.mean([hold(columns, event) for event in range(200)])
    assert 10 < matches < 40


def test_templates_share_attributes_and_events_have_them():
    columns = draw(replace(WORKLOADS["templated-1m"], subscriptions=2000, predicates=(6, 6), match=0.01, themes=40))
    assert len({tuple(row) for row in np.sort(columns.attrs.reshape(2000, 6))}) <= 20
    assert 10 < np.mean([hold(columns, event) for event in range(200)]) < 40


def test_the_same_every_time_and_smaller_by_scale():
    one, other = generate("uniform-100k", 0.01), generate("uniform-100k", 0.01)
    assert len(one.offsets) == 1001
    assert np.array_equal(one.attrs, other.attrs)
    assert np.array_equal(one.event_values, other.event_values)


def test_weighted_subsets_prefer_the_heavy():
    rows = subsets(np.random.default_rng(0), 2000, 2, np.array([8.0, 1.0, 1.0, 1.0]))
    assert np.all(rows[:, 0] != rows[:, 1])
    assert np.mean(np.any(rows == 0, axis=1)) > 0.8
