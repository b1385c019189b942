from dataclasses import asdict

import pytest

from tamis.arrays import jit
from tamis.candidates import costs


def test_measured_once_then_read_from_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TAMIS_CACHE_DIR", str(tmp_path))
    assert jit.cache_root() == tmp_path
    first = costs.machine_costs()
    assert all(value > 0 for value in asdict(first).values())
    assert costs.machine_costs() == first
    (file,) = tmp_path.glob("costs-*.json")
    file.write_text('{"retrieve": 1, "hash": 2, "check": 3}')
    assert costs.machine_costs() == costs.Costs(1.0, 2.0, 3.0)


@pytest.mark.parametrize("text", ["", "[]", '{"retrieve": "x"}', '{"other": 1}'])
def test_a_broken_cache_is_measured_again(monkeypatch, tmp_path, text):
    monkeypatch.setenv("TAMIS_CACHE_DIR", str(tmp_path))
    costs.machine_costs()
    (file,) = tmp_path.glob("costs-*.json")
    file.write_text(text)
    assert costs.machine_costs().check > 0
    assert costs.machine_costs() == costs.machine_costs()
