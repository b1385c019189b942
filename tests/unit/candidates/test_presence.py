"""Restricted trees against their definition, on the binary model: subscriptions in {0,1,*}^k."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.candidates.presence.index import PresenceForest
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal

K = 9
patterns = st.lists(st.text("01**", min_size=K, max_size=K), max_size=14)
bits = st.text("0001", min_size=K, max_size=K)


def dnf(pattern):
    asked = {"0": Op.MISSING, "1": Op.EXISTS}
    return (tuple(Literal(Predicate(f"p{i}", asked[v])) for i, v in enumerate(pattern) if v != "*"),)


def dictionary():
    known = Dictionary()
    for i in range(K):
        known.attribute(f"p{i}")
    return known


def answers(forest, known, events):
    batch = encode_events([{f"p{i}": (0,) for i, v in enumerate(event) if v == "1"} for event in events], known)
    found = forest.match(batch)
    return [sorted(found.of(i).tolist()) for i in range(len(events))]


def agree(pattern, event):
    return all(p in ("*", e) for p, e in zip(pattern, event, strict=True))


@pytest.mark.parametrize("light", [-1, 0, 2, K])
@settings(max_examples=40)
@given(patterns, st.sets(st.integers(0, 13)), st.lists(bits, max_size=6))
def test_binary_model(light, given_patterns, gone, events):
    known = dictionary()
    table = encode_subscriptions(((i, dnf(p)) for i, p in enumerate(given_patterns)), known)
    forest = PresenceForest(table, light)
    forest.drop(np.array(sorted(gone), np.int32))
    left = {i: p for i, p in enumerate(given_patterns) if i not in gone}
    assert answers(forest, known, events) == [[i for i, p in left.items() if agree(p, e)] for e in events]
    fresh = PresenceForest(encode_subscriptions(((i, dnf(p)) for i, p in left.items()), known), light)
    assert forest.nodes == fresh.nodes
    assert (forest.trees.held == fresh.trees.held).all()
    assert forest.checked == forest.matches  # presence is native: what is reached matches


def standings(pattern, light):
    """Trees a pattern belongs to, by the definition of the sets S_t and T_tj."""
    ones, wide = pattern.count("1"), K - pattern.count("0")
    found = []
    for t in range(light + 1):
        for j in range(t + 1):
            lo, hi = j * K // (t + 1), (j + 1) * K // (t + 1)
            if ones <= t <= wide and "1" not in pattern[lo:hi]:
                found.append((t, j))
    return len(found) + (wide > light)


@settings(max_examples=40)
@given(st.text("01*", min_size=K, max_size=K), st.integers(0, K))
def test_standings(pattern, light):
    forest = PresenceForest(encode_subscriptions([(0, dnf(pattern))], dictionary()), light)
    assert forest.trees.held.sum() == standings(pattern, light)


def test_wide_nodes_use_the_hash_and_shrink_again():
    known = Dictionary()
    table = encode_subscriptions(((i, ((Literal(Predicate(f"w{i}", Op.EXISTS)),),)) for i in range(200)), known)
    forest = PresenceForest(table, -1)
    batch = encode_events([{"w3": (1,), "w150": (1,)}], known)
    assert sorted(forest.match(batch).ids.tolist()) == [3, 150]
    assert forest.visited == 3
    forest.drop(np.arange(0, 199, dtype=np.int32))
    assert forest.match(batch).ids.tolist() == []
    assert forest.nodes == 2


def test_new_attributes_redraw_the_blocks():
    known = dictionary()
    forest = PresenceForest(encode_subscriptions([(0, dnf("1********"))], known), 2)
    forest.add(encode_subscriptions([(1, dnf("1" + "*" * 20 + "1"))], known))
    assert forest.rebuilds == 1
    batch = encode_events([{"p0": (1,)}, {"p0": (1,), "p21": (1,)}], known)
    found = forest.match(batch)
    assert [sorted(found.of(i).tolist()) for i in range(2)] == [[0], [0, 1]]
