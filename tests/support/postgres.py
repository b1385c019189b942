"""A private PostgreSQL server for the length of a test run, where the binaries exist."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "tamis"


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl, newest version first."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Start a server in `folder`, reachable by a socket there only; yields its dsn and stops it at the end."""
    where = binaries()
    assert where is not None
    # PostgreSQL refuses to run as root: then the distribution's own account runs it.
    account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    if account:
        shutil.chown(folder, "postgres", "postgres")

    def run(*command: str) -> None:
        subprocess.run([*account, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=60)

    data = str(folder / "data")
    run(str(where / "initdb"), "-D", data, "-U", USER, "-A", "trust", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    run(str(where / "pg_ctl"), "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"host={folder} user={USER} dbname=postgres"
    finally:
        run(str(where / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
