"""The surveillance example, as somebody would run it."""

import os
import subprocess
import sys
from pathlib import Path

import cv2

ROOT = Path(__file__).resolve().parents[2]


def test_s1_to_s5_fire_where_they_should(tmp_path):
    picture = tmp_path / "seen.png"
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "surveillance.py"), str(picture)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.stderr == "", "an operator that fails is told on stderr"
    fired = dict(line.rsplit("  ", 1) for line in done.stdout.splitlines()[:5])
    assert {where.strip(): ids.strip() for where, ids in fired.items()} == {
        "Yankee Stadium": "S1, S2",
        "near Times Square": "S3",
        "Bronx Zoo": "S4",
        "Upper Bay": "S5",
        "JFK Airport": "none",
    }
    drawn = cv2.imread(str(picture))
    assert drawn is not None
    assert drawn.shape == (470, 2000, 3)
