from dataclasses import asdict

import pytest

from tamis.arrays import jit
from tamis.candidates.costs import Costs, machine_costs
from tamis.engines.static import measure


def test_measured_once_then_read_from_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TAMIS_CACHE_DIR", str(tmp_path))
    assert jit.cache_root() == tmp_path
    first = machine_costs(measure)
    assert all(value > 0 for value in asdict(first).values())
    assert machine_costs(measure) == first
    (file,) = tmp_path.glob("costs-*.json")
    file.write_text('{"retrieve": 1, "hash": 2, "check": 3}')
    assert machine_costs(measure) == Costs(1.0, 2.0, 3.0)


@pytest.mark.parametrize("text", ["", "[]", '{"retrieve": "x"}', '{"other": 1}'])
def test_a_broken_cache_is_measured_again(monkeypatch, tmp_path, text):
    monkeypatch.setenv("TAMIS_CACHE_DIR", str(tmp_path))
    machine_costs(lambda: Costs(1.0, 2.0, 3.0))
    (file,) = tmp_path.glob("costs-*.json")
    file.write_text(text)
    assert machine_costs(lambda: Costs(4.0, 5.0, 6.0)) == Costs(4.0, 5.0, 6.0)
    assert machine_costs(lambda: Costs(7.0, 8.0, 9.0)) == Costs(4.0, 5.0, 6.0)
