"""What sampled events would meet under the chosen keys is what they do meet."""

import numpy as np
import pytest
from tests.unit.engines.test_tamis import dictionary, random_events, random_table

from tamis.engines.tamis import TamisEngine, TamisOptions


@pytest.mark.parametrize("look_up_ns", [0.0, 10.0, 1e6])
def test_expected_candidates_are_those_met(look_up_ns):
    """Clusters are too small for blocks, and all events are in the sample; two hashes in one cluster may add a few."""
    rng = np.random.default_rng(8)
    table = random_table(rng, 600, dictionary(60), width=6, attributes=60)
    events = random_events(rng, 60, attributes=60, repeats=False)
    engine = TamisEngine.build(table, TamisOptions(sample=events, look_up_ns=look_up_ns, merge="never"))
    engine.match(events)
    details = engine.stats().details
    assert details["expected_candidates"] == pytest.approx(details["candidates_per_event"], rel=0.1, abs=1.0)
