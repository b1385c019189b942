from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.subscriptions import IN, IN_SET, OUT_SET, SubscriptionTable
from tamis.predicates.registry import Registry

DICTIONARY = Dictionary()


def table(conjunctions):
    """From lists of (attribute, op, lo, hi) or (attribute, op, members)."""
    offsets, rows = [0], []
    sets: list[int] = []
    for conjunction in conjunctions:
        for predicate in conjunction:
            if len(predicate) == 3:
                attribute, op, members = predicate
                rows.append((attribute, op, len(sets), len(sets) + len(members)))
                sets += members
            else:
                rows.append(predicate)
        offsets.append(len(rows))
    columns = np.array(rows, np.int64).reshape(-1, 4)
    return SubscriptionTable(
        np.arange(len(conjunctions), dtype=np.int32),
        np.array(offsets, np.int64),
        columns[:, 0].astype(np.int32),
        columns[:, 1].astype(np.uint8),
        columns[:, 2].copy(),
        columns[:, 3].copy(),
        np.array(sets, np.int64),
        DICTIONARY,
    )


intervals = st.tuples(st.integers(0, 3), st.sampled_from([IN, 1]), st.integers(0, 5), st.integers(0, 5))
sets = st.tuples(
    st.integers(0, 3),
    st.sampled_from([IN_SET, OUT_SET]),
    st.lists(st.integers(0, 9), min_size=2, max_size=9, unique=True).map(sorted),
)
conjunctions = st.lists(st.one_of(intervals, sets), max_size=5)


def key(predicate):
    return (*predicate[:2], tuple(predicate[2])) if len(predicate) == 3 else predicate


@settings(max_examples=60)
@given(st.lists(st.tuples(st.lists(conjunctions, min_size=1, max_size=6), st.integers(0, 30)), max_size=6))
def test_equal_predicates_share_an_id_and_ids_are_recycled(script):
    registry, most = Registry(), 0
    held: list[tuple[list[Any], list[int]]] = []
    for batch, victim in script:
        offsets, ids, fresh = registry.acquire(table(batch))
        before = {key(p): i for conjunction, its in held for p, i in zip(conjunction, its, strict=True)}
        assert set(fresh).isdisjoint(before.values())
        for n, conjunction in enumerate(batch):
            distinct = list(dict.fromkeys(map(key, conjunction)))
            its = ids[offsets[n] : offsets[n + 1]].tolist()
            assert len(its) == len(distinct)
            held.append((distinct, its))
        meaning: dict[int, object] = {}
        for conjunction, its in held:
            for predicate, i in zip(conjunction, its, strict=True):
                assert meaning.setdefault(i, predicate) == predicate
        assert len(set(meaning.values())) == len(meaning) == len(registry)
        most = max(most, len(registry))
        assert registry.made == most, "an id was made although one was free"
        _, its = held.pop(victim % len(held))
        freed = registry.release(np.array(its, np.int32))
        still = {i for _, others in held for i in others}
        assert set(freed.tolist()) == set(its) - still


def test_delete_everything_and_insert_again_takes_the_same_memory():
    registry = Registry()
    batch = [[(a, IN, v, v), (a, IN_SET, [v, v + 1, v + 2])] for a in range(20) for v in range(50)]
    _, ids, _ = registry.acquire(table(batch))
    held, made = registry.nbytes, registry.made
    for _ in range(3):
        registry.release(ids)
        assert len(registry) == 0
        _, ids, fresh = registry.acquire(table(batch))
        assert sorted(fresh) == list(range(made))
        assert (registry.nbytes, registry.made) == (held, made)
