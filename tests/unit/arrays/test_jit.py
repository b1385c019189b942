"""The kernel cache notices an edited callee in another file, which Numba's own does not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from tamis.arrays import jit
from tamis.arrays.buffer import grown
from tamis.arrays.jit import PACKAGE, kernel, leaf

CALLEE = "from tamis.arrays.jit import kernel\n\n@kernel\ndef inner(x: int) -> int:\n    return x + {}\n"
CALLER = """
from tamis.arrays.callee import inner
from tamis.arrays.jit import kernel

@kernel
def outer(x: int) -> int:
    return inner(x)
"""


def run(root: Path) -> str:
    code = "from tamis.arrays.caller import outer; print(outer(1))"
    env = {**os.environ, "PYTHONPATH": str(root), "TAMIS_CACHE_DIR": str(root / "cache")}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_an_edited_callee_is_compiled_again(tmp_path):
    for part in ("__init__.py", "errors.py"):
        (tmp_path / "tamis").mkdir(exist_ok=True)
        shutil.copy(PACKAGE / part, tmp_path / "tamis" / part)
    (tmp_path / "tamis/__init__.py").write_text("")
    shutil.copytree(PACKAGE / "arrays", tmp_path / "tamis/arrays")
    (tmp_path / "tamis/arrays/caller.py").write_text(CALLER)
    (tmp_path / "tamis/arrays/callee.py").write_text(CALLEE.format(1))
    assert run(tmp_path) == "2"
    (tmp_path / "tamis/arrays/callee.py").write_text(CALLEE.format(10))
    assert run(tmp_path) == "11"


def test_the_hash_covers_what_is_imported_and_nothing_else(tmp_path):
    def hashed() -> str:
        for memory in (jit.imported, jit.digest, jit.source_hash):
            memory.cache_clear()
        return jit.source_hash(file)

    file, package, below = tmp_path / "a.py", tmp_path / "room", tmp_path / "room" / "b.py"
    package.mkdir()
    other = tmp_path / "c.py"
    for place in (package / "__init__.py", below, other):
        place.write_text("")
    file.write_text("def f():\n    from tamis.room import b\n")
    with patch.object(jit, "PACKAGE", tmp_path):
        first = hashed()
        other.write_text("x = 1")
        assert hashed() == first
        below.write_text("from tamis.c import x")
        second = hashed()
        assert second != first
        other.write_text("x = 2")
        assert hashed() not in (first, second)


def test_grown_keeps_content():
    buffer = np.arange(3, dtype=np.int32)
    assert grown(buffer, 3) is not None
    larger = grown(buffer, 4)
    assert len(larger) >= 6
    assert larger[:3].tolist() == [0, 1, 2]


def test_a_leaf_leaves_reference_counts_alone():
    @leaf
    def total(values: NDArray[np.int64], first: int, last: int) -> int:
        found = 0
        for i in range(first, last):
            found += values[i]
        return found

    @kernel
    def totals(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([total(values, i, len(values)) for i in range(len(values))])

    values = np.arange(5)
    before = sys.getrefcount(values)
    assert totals(values).tolist() == [10, 10, 9, 7, 4]
    assert sys.getrefcount(values) == before
