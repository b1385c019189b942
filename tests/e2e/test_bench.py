"""The commands that measure: a small suite of one's own is run, resumed, reported and compared."""

import json
import os
import signal
import subprocess
import time

import pytest
from tests.unit.bench.sets import TOML


@pytest.fixture
def place(tmp_path):
    (tmp_path / "small.toml").write_text(TOML.replace("[50, 100, 200]", "[100, 200]"))
    return tmp_path


def test_run_resume_report_compare(run, place):
    code, out, err = run("bench", "run", "small.toml", "--engine", "left")
    assert (code, err) == (0, "")
    assert "2 runs, 0 of them done before. Raw results: results/quick" in out
    code, out, _ = run("bench", "run", "small.toml")
    assert "3 runs, 2 of them done before" in out
    files = sorted((place / "results" / "quick" / "small").glob("*.json"))
    assert len(files) == 3
    one = json.loads(files[0].read_text())
    assert (one["status"], one["format"], one["run"]["suite"]) == ("ok", 1, "small")
    strange = place / "results" / "quick" / "small" / "strange.json"
    strange.write_text(json.dumps({**one, "format": 7}))
    code, out, err = run("bench", "report", "--suite", "small.toml")
    assert (code, out.strip()) == (0, "report: report/index.html")
    assert f"skipped: {strange.relative_to(place)}: result of format 7" in err
    page = (place / "report" / "index.html").read_text()
    assert "Left is slower &lt;than&gt; right." in page
    assert (place / "report" / "small-1.png").exists()
    code, out, _ = run("bench", "compare", "results", "results")
    assert code == 0
    assert "0 of " in out


def test_unknown_names(run, place):
    code, _, err = run("bench", "run", "refrence")
    assert (code, err.strip()[:60]) == (1, "tamis: there is no suite 'refrence'; did you mean 'reference")
    code, _, err = run("bench", "run", "small.toml", "--engine", "scann")
    assert code == 1
    assert "no engine 'scann'; did you mean 'scan'?" in err
    code, _, err = run("bench", "report")
    assert code == 1
    assert "there are no results in results/quick; make some with" in err
    code, out, _ = run("bench", "list")
    assert code == 0
    assert "topss-subscriptions" in out


def heed_interrupts():
    """Tests started in the background of a script inherit that SIGINT is ignored; what they start would, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_stopping_loses_nothing(run, process, place):
    slow = TOML.replace("[50, 100, 200]", "[50, 60, 70, 80]").replace("seconds = 0.01", "seconds = 1.0")
    (place / "small.toml").write_text(slow)
    command, environment = process
    arguments = [*command, "bench", "run", "small.toml", "--engine", "scan"]
    started = subprocess.Popen(
        arguments,
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    kept = place / "results" / "quick" / "small"
    until = time.monotonic() + 120
    while not list(kept.glob("*.json")) and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(started.pid, signal.SIGINT)  # what Ctrl-C does
    _, told = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "The same command goes on from here." in told
    done = len(list(kept.glob("*.json")))
    assert 1 <= done < 4
    code, out, _ = run("bench", "run", "small.toml", "--engine", "scan")
    assert code == 0
    assert f"4 runs, {done} of them done before" in out
