"""How long a broker with many subscriptions takes from its start to its first match: after an orderly stop, and after kill -9.

`python -m tests.soak.restart` gives the figures of docs/broker.md: a million subscriptions. The broker is `tamis serve`, a
process of its own, and the clock runs from its start to the answer of the first publish; what has to be compiled was
compiled before.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from tests.e2e.broker.running import await_ready, free_port
from tests.soak.load import PER_ITEM, populate

from tamis.broker.client import Client

LATE = 1000


class Broker:
    """`tamis serve` in a process of its own."""

    def __init__(self, directory: Path) -> None:
        port = free_port()
        self.url, began = f"http://127.0.0.1:{port}", time.monotonic()
        command = [sys.executable, "-m", "tamis", "serve", "--data", str(directory), "--port", str(port)]
        self.process = subprocess.Popen([*command, "--log-level", "warning"])
        await_ready(self.url, 1000)
        with Client(self.url, timeout=100) as client:
            event = {"item": "item 7", "price": 0, "region": "north"}
            self.matched = client.publish(event).matched
        self.first_match = time.monotonic() - began

    def end(self, sig: signal.Signals) -> float:
        """Seconds until the process is gone."""
        began = time.monotonic()
        self.process.send_signal(sig)
        self.process.wait()
        return time.monotonic() - began

    def __str__(self) -> str:
        process = psutil.Process(self.process.pid)
        used, times = process.memory_info().rss / 2**30, process.cpu_times()
        return (
            f"first match after {self.first_match:.1f} s, {times.user + times.system:.1f} s of them processor time; "
            f"{used:.1f} GiB resident"
        )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="a directory to fill, or filled before by this option")
    options = parser.parse_args()
    count, dice, run = options.subscriptions, random.Random(3), int(time.time())
    with tempfile.TemporaryDirectory() as folder:
        directory = options.keep or Path(folder)
        tell(f"{count:,} subscriptions")
        if not (directory / "broker.db").exists():
            directory.mkdir(exist_ok=True)
            began = time.monotonic()
            populate(directory, count, None)
            tell(f"filled in {time.monotonic() - began:.0f} s")
        broker = Broker(directory)
        with Client(broker.url, timeout=100) as client:
            client.subscribe("a = 1")
        tell(f"orderly stop with a change, so that the index is saved: {broker.end(signal.SIGTERM):.1f} s")
        broker = Broker(directory)
        expected = broker.matched
        tell(f"after the orderly stop: {broker}")
        with Client(broker.url, timeout=100) as client:
            late = [client.subscribe(f"late = {run + n} and price < {dice.randrange(1000)}") for n in range(LATE)]
            for one in late[: LATE // 10]:
                client.unsubscribe(one)
        broker.end(signal.SIGKILL)
        broker = Broker(directory)
        tell(f"after kill -9 with {LATE + LATE // 10:,} changes that the saved index does not know: {broker}")
        with Client(broker.url) as client:
            again = client.publish({"late": run + LATE - 1, "price": -1}).matched
        broker.end(signal.SIGTERM)
    if (broker.matched, again) != (expected, 1) or not 0 < expected <= PER_ITEM:
        sys.exit(f"matches differ: {expected} before, {broker.matched} after; the late one: {again}")


def tell(text: str) -> None:
    """A line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    main()
