"""`tamis warm` to the end, and nothing left to compile for a matcher after it."""

import subprocess
import sys

MATCH = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
from tamis import Matcher
matcher = Matcher()
matcher.subscribe("a", "x = 1 and y > 3")
matcher.subscribe("b", "name starts with 'b' or y in (1, 2, 3)")
print(sorted(matcher.match({"x": 1, "y": 5})), matcher.match_many([{"name": "bee"}, {"y": [3, 4]}]))
matcher.subscribe("c", "missing(x)")
print(sorted(matcher.match({"y": 2})))
"""


def test_after_warming_up_a_matcher_compiles_nothing():
    warmed = subprocess.run([sys.executable, "-m", "tamis", "warm"], capture_output=True, text=True)
    assert warmed.returncode == 0, warmed.stderr
    assert "step 3 of 3" in warmed.stderr
    assert warmed.stderr.splitlines()[-1].startswith("tamis: kernels are ready in ")
    matched = subprocess.run([sys.executable, "-c", MATCH], capture_output=True, text=True)
    assert matched.stdout.splitlines() == ["['a'] [['b'], ['b']]", "['b', 'c']"], matched.stderr
    assert "compiling" not in matched.stderr
