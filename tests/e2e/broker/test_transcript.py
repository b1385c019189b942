"""The transcripts of docs/broker.md and of the README, run as they stand."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.broker.running import Running, free_port

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "broker.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_page_with_nothing_but_curl(broker: Running, tmp_path: Path) -> None:
    found = re.search(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    script = found[1].replace("--json", "-H Content-Type:application/json --data")  # for a curl older than 7.82
    environment = {**os.environ, "URL": broker.url, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        ["bash", "-c", re.sub(r"^( *curl .*)$", r"\1; echo", script, flags=re.MULTILINE)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert all("status" not in answer for answer in answers), done.stdout
    subscribed, first, second, page, cursor = answers[:5]
    assert subscribed["ticket"].startswith("tamis_")
    assert (first["matched"], second["matched"]) == (1, 1)
    assert [n["event"]["price"] for n in page["notifications"]] == [199, 250]
    assert cursor == {"cursor": 1}
    assert 'data: {"id":"' in done.stdout
    assert any(answer.get("matched") == [1, 0] for answer in answers)
    assert any("does not match" in answer.get("text", "") for answer in answers)
    assert any("expires" in answer and "ticket" not in answer for answer in answers)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_readme_from_a_fresh_start(tmp_path: Path) -> None:
    found = re.search(r"```\n(tamis serve &\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    port = free_port()
    script = found[1].replace("--json", "-s -H Content-Type:application/json --data").replace(":8080", f":{port}")
    ours = f"""set -e
tamis() {{ exec "{sys.executable}" -m tamis "$@" --port {port} --engine scan; }}
trap 'kill $!; wait $! || true' EXIT
"""  # not kill -INT: what a script starts in the background ignores it until it handles it
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "PYTHONPATH": str(ROOT / "src")}
    transcript = ours + re.sub(r"^(curl [^#\n]*).*$", r"\1; echo", script, flags=re.MULTILINE)
    done = run_script(transcript, tmp_path, environment)
    assert done.returncode == 0, done.stderr
    ready, _, published, page = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    assert (ready["status"], published["matched"]) == ("ready", 1)
    assert [n["event"] for n in page["notifications"]] == [{"item": "camera", "price": 199}]
    told = [json.loads(line)["message"] for line in done.stderr.splitlines() if line.startswith("{")]
    assert told[-1] == "stopped"


def run_script(script: str, place: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A script; with everything it started, it is ended after four minutes."""
    pipe = subprocess.PIPE
    command = ["bash", "-c", script]
    shell = subprocess.Popen(
        command, cwd=place, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    try:
        out, err = shell.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()
        raise
    return subprocess.CompletedProcess(command, shell.returncode, out, err)
