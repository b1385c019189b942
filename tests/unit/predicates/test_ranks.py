"""Codes by ranks that are known already are the codes the ranks were made with."""

import numpy as np
from tests.unit.engines.test_tamis import dictionary, random_table

from tamis.predicates.ranks import code_known, rank_table


def test_codes_by_known_ranks_are_the_same():
    table = random_table(np.random.default_rng(1), 500, dictionary(), width=5)
    ranks, codes = rank_table(table)
    again = code_known(table, ranks)
    for name in codes._fields:
        assert np.array_equal(getattr(codes, name), getattr(again, name)), name


def test_a_part_of_a_table_is_coded_like_the_whole():
    table = random_table(np.random.default_rng(2), 500, dictionary(), width=5)
    ranks, codes = rank_table(table)
    part = table.take(np.arange(0, len(table), 7))
    rows = np.concatenate([np.arange(table.offsets[c], table.offsets[c + 1]) for c in range(0, len(table), 7)])
    again = code_known(part, ranks)
    plain = part.ops < 5
    assert np.array_equal(again.lo[plain], codes.lo[rows][plain])
    assert np.array_equal(again.hi[plain], codes.hi[rows][plain])
