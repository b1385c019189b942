"""What reaches a terminal of the process a session starts."""

import subprocess
import sys
import threading
from pathlib import Path

from tamis.spark.session import NOISE, search_path, without_noise

SAY = f"import sys; sys.stderr.write('{NOISE.decode()}: some.module\\nsomething went wrong\\n')"


def test_errors_pass_noise_does_not(capfd):
    with without_noise():
        subprocess.run([sys.executable, "-c", SAY], check=True)
    for thread in threading.enumerate():
        if thread.name == "tamis-spark-errors" and thread.daemon:
            thread.join(1)
    subprocess.run([sys.executable, "-c", "import sys; sys.stderr.write('later')"], check=True)
    assert capfd.readouterr().err == "something went wrong\nlater"


def test_workers_find_this_package_first(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    first, *rest = search_path().split(":")
    assert (Path(first) / "tamis" / "spark").is_dir()
    assert rest == ["elsewhere"]
