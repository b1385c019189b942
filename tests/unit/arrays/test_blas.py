"""SciPy's linear algebra is not loaded for a match, and is there for who compiles with it."""

import subprocess
import sys

import pytest

CHILD = """
import sys
import numba
import numpy as np
from tamis import Matcher

matcher = Matcher()
matcher.subscribe("a", "x > 1")
assert matcher.match({"x": 2}) == ["a"]
print("scipy.linalg" in sys.modules)

@numba.njit
def product(a, b):
    return np.dot(a, b)

print(product(np.eye(2), np.array([3.0, 4.0])).tolist(), "scipy.linalg" in sys.modules)
"""


def test_a_first_match_loads_no_linear_algebra():
    pytest.importorskip("scipy")
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True)
    assert child.stdout.splitlines() == ["False", "[3.0, 4.0] True"], child.stderr
