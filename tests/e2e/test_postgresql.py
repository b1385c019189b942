"""The `sql` engine inside a real PostgreSQL."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.worlds import World, populations, streams

from tamis import Matcher
from tamis.bench.postgres import binaries, private_server
from tamis.errors import EngineError

pytestmark = pytest.mark.skipif(binaries() is None, reason="no PostgreSQL server binaries on this machine")


@pytest.fixture(scope="module")
def dsn():
    with private_server() as address:
        yield address


@pytest.mark.parametrize("strategy", ["sequential", "grouping"])
def test_equals_the_model(dsn, strategy):
    variant = ("sql", {"database": "postgresql", "dsn": dsn, "strategy": strategy})

    @settings(max_examples=15)
    @given(populations, populations, streams, st.randoms(use_true_random=False))
    def check(first, second, stream, chance: random.Random):
        world = World(variant, dict(enumerate(first)))
        world.check(stream)
        world.insert(dict(enumerate(second, start=50)))
        world.check(stream)
        world.remove(chance.sample(sorted(world.population), len(world.population) // 2))
        world.check(stream)

    check()


def test_a_server_that_is_not_there_is_named():
    matcher = Matcher("sql", database="postgresql", dsn="host=/nowhere user=x dbname=x")
    with pytest.raises(EngineError, match=r"cannot reach PostgreSQL at '.*host=/nowhere"):
        matcher.match({})
