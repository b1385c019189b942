"""Conjunctions in rank codes, taken in another order, and in the order of their clusters."""

import numpy as np
import pytest
from tests.unit.engines.test_tamis import dictionary, random_table

from tamis.candidates.keyed.choose import VALUE, VALUES, Choice
from tamis.candidates.keyed.coded import code_table, taken
from tamis.candidates.keyed.filed import in_clusters
from tamis.encoding.subscriptions import IN, IN_SET
from tamis.predicates.ranks import rank_table


def world(rng, count=300):
    table = random_table(rng, count, dictionary(), width=5)
    ranks, codes = rank_table(table)
    coded = code_table(table, ranks, codes)
    return coded, rng.random(len(coded.slots))


def rows_of(coded, likely):
    """Each conjunction as plain objects."""
    columns = [column.tolist() for column in (coded.slots, coded.ops, coded.lo, coded.hi, likely)]
    predicates = list(zip(*columns, strict=True))
    parts = [predicates[a:b] for a, b in zip(coded.offsets[:-1], coded.offsets[1:], strict=True)]
    return list(zip(coded.owners.tolist(), coded.shared.tolist(), parts, strict=True))


@pytest.mark.parametrize("count", [0, 1, 500])
def test_taken_rows_are_those_rows(count):
    rng = np.random.default_rng(count)
    coded, likely = world(rng)
    rows = rng.integers(0, len(coded.owners), count).astype(np.int32)
    wanted = rows_of(coded, likely)
    assert rows_of(*taken(coded, likely, rows)) == [wanted[c] for c in rows]


def test_filings_by_cluster_know_what_their_key_proves_and_what_was_filed_before():
    rng = np.random.default_rng(5)
    coded, likely = world(rng)
    count, clusters = len(coded.owners), 40
    sizes = np.diff(coded.offsets)
    first = np.where(sizes > 0, coded.offsets[:-1] + rng.integers(0, np.maximum(1, sizes)), -1).astype(np.int32)
    kind = np.where(sizes > 0, rng.integers(VALUE, VALUES + 1, count), 0).astype(np.uint8)
    no_hashes, no_third = np.zeros(0, np.uint64), np.zeros(0, np.int32)
    choice = Choice(kind, first, np.full(count, -1, np.int32), np.zeros(count), no_hashes, no_third)
    filings = [
        (c, cluster)
        for c in range(count)
        for cluster in sorted(rng.permutation(clusters)[: 3 if kind[c] == VALUES else 1].tolist())
    ]
    rows, cluster_of = np.array(filings, np.int32).T.copy()
    filed, order = in_clusters(coded, choice, likely, rows, cluster_of, clusters)
    wanted, seen, made = rows_of(coded, likely), set(), rows_of(filed.coded, filed.likely)
    assert len(order) == len(filings)
    for k in range(clusters):
        here = [c for c, cluster in filings if cluster == k]
        assert order[filed.starts[k] : filed.starts[k + 1]].tolist() == sorted(here, key=lambda c: sizes[c])
    for i, c in enumerate(order.tolist()):
        assert made[i] == wanted[c]
        assert filed.kinds[i] == kind[c]
        assert filed.copies[i] == (c in seen)
        seen.add(c)
        proves = first[c] >= 0 and coded.ops[first[c]] == (IN if kind[c] == VALUE else IN_SET)
        assert filed.proven[i] == (filed.coded.offsets[i] + first[c] - coded.offsets[c] if proves else -1)
    assert (filed.proven >= 0).sum() > 20
