import random

import numpy as np
import pytest

from tamis.candidates.counting import (
    ListAssociation,
    MatrixAssociation,
    count_bits,
    count_bytes,
    count_lists,
    new_tally,
    reached,
)
from tamis.errors import EngineError

PREDICATES, CONJUNCTIONS = 40, 150


def csr(rows):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return offsets, np.array([p for row in rows for p in row], np.int32)


@pytest.mark.parametrize("kind", ["lists", "bits", "bytes"])
@pytest.mark.parametrize("longest", [5, 30])
@pytest.mark.parametrize("seed", range(3))
def test_each_association_counts_as_sets_do(kind, seed, longest):
    chance = random.Random(seed)
    association = ListAssociation() if kind == "lists" else MatrixAssociation(1 << 20, kind == "bits")
    tally = reached(new_tally(), CONJUNCTIONS)
    world: dict[int, list[int]] = {}
    for _ in range(4):
        new = chance.sample([i for i in range(CONJUNCTIONS) if i not in world], 60)
        rows = [chance.sample(range(PREDICATES), chance.randint(1, longest)) for _ in new]
        offsets, flat = csr(rows)
        association.add(np.array(new, np.int32), offsets, flat, (PREDICATES, CONJUNCTIONS))
        world.update(zip(new, rows, strict=True))
        tally.goal[new] = [len(row) for row in rows]
        gone = chance.sample(sorted(world), 30)
        offsets, flat = csr([world.pop(i) for i in gone])
        association.remove(np.array(gone, np.int32), offsets, flat)
        tally.goal[gone] = 0
        for _ in range(10):
            satisfied = chance.sample(range(PREDICATES), chance.randint(0, PREDICATES))
            given = np.array(satisfied, np.int32)
            if isinstance(association, ListAssociation):
                found, _ = count_lists(association.state, tally, given, len(given))
            elif kind == "bits":
                found, _ = count_bits(association.state, association.planes, tally, given, len(given))
                assert not association.planes.hits.any()
            else:
                found, _ = count_bytes(association.state, tally, given, len(given), CONJUNCTIONS)
            expected = {i for i, row in world.items() if set(row) <= set(satisfied)}
            assert sorted(tally.found[:found].tolist()) == sorted(expected)
            assert not tally.hits.any()


@pytest.mark.parametrize(("bits", "needed"), [(True, "12,504,000"), (False, "100,000,000")])
def test_a_matrix_that_would_not_fit_is_refused_with_the_size_it_needs(bits, needed):
    with pytest.raises(EngineError, match=f"needs {needed} bytes"):
        MatrixAssociation(10_000_000, bits).check((1000, 100_000))
