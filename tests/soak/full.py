"""A disk that is really full: a few megabytes of memory mounted as a file system of their own.

`unshare --user --map-root-user --mount python -m tests.soak.full DIRECTORY` mounts it there, for this process alone.
"""

import subprocess
import sys
from pathlib import Path

from tests.e2e.broker.running import running

from tamis.errors import FullError

SIZE, BALLAST = 6 << 20, 3 << 20


def fill(directory: Path) -> None:
    """Publish until nothing fits, make room, publish again, restart; everything acknowledged is there, and nothing else."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(directory)], check=True)
    ballast = directory / "ballast"
    ballast.write_bytes(bytes(BALLAST))
    taken: list[str] = []
    refused = 0
    with running(directory / "data") as broker, broker.client() as client:
        mine = client.subscribe("a = 1")
        while refused < 20:
            try:
                taken.append(client.publish({"a": 1, "padding": "x" * 20_000}).id)
            except FullError:
                refused += 1
        page = client.notifications(mine).notifications  # reading goes on
        assert page
        assert [n.event_id for n in page] == taken[: len(page)]
        assert broker.service.ready
        ballast.unlink()
        taken += [client.publish({"a": 1, "n": n}).id for n in range(20)]
    with running(directory / "data") as broker, broker.client() as client:
        found: list[str] = []
        after = 0
        while page := client.notifications(mine, after=after).notifications:
            found += [n.event_id for n in page]
            after = page[-1].cursor
        assert found == taken
    sys.stdout.write(f"{len(taken)} events taken, {refused} refused\n")


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
