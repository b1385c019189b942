"""What is told of processes: resident and proportional memory, the part of it that is index."""

import ast
import mmap
import os
import subprocess
import sys

import numpy as np

from tamis.spark.memory import mapped

SIZE = 8 << 20


def test_index_pages_are_told_apart(tmp_path):
    before = mapped(os.getpid())
    (tmp_path / "shard-00000").mkdir()
    path = tmp_path / "shard-00000" / "lo.npy"
    path.write_bytes(bytes(SIZE))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
        held = np.frombuffer(pages, np.uint8)
        assert held.sum() == 0
        resident, proportional, index, share = mapped(os.getpid())
        assert index - before[2] == share - before[3] == SIZE / (1 << 20)
        assert proportional <= resident
        del held
    assert mapped(2**22 + 1) == (0.0, 0.0, 0.0, 0.0)


ALONE = """
import time
from tamis.spark.memory import Memory
with Memory() as memory:
    time.sleep(0.8)
print(memory.figures("compile"))
"""


def test_the_driver_is_watched():
    """In a process of its own: a session of other tests would have workers."""
    told = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True).stdout
    figures = ast.literal_eval(told)
    assert figures["compile_driver_mib"] > 10
    assert figures["compile_workers"] == figures["compile_resident_mib"] == 0
