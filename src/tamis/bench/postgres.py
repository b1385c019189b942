"""A private PostgreSQL server for the length of a run, where the binaries exist."""

import os
import shutil
import subprocess
import tempfile
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
def private_server() -> Iterator[str]:
    """Start a server in a temporary folder, reachable by a socket there only; yields its dsn and stops it at the end."""
    where = binaries()
    if where is None:
        raise FileNotFoundError("no PostgreSQL server binaries (initdb, pg_ctl) on this machine")
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        folder.chmod(0o755)
        # PostgreSQL refuses to run as root: then the distribution's own account runs it.
        account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        if account:
            shutil.chown(folder, "postgres", "postgres")

        def run(*command: str) -> None:
            # A session of its own: an interrupt at the terminal must not reach the server before the engines are gone.
            subprocess.run(
                [*account, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=60,
                start_new_session=True,
            )  # fmt: skip

        data = str(folder / "data")
        run(str(where / "initdb"), "-D", data, "-U", USER, "-A", "trust", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c shared_buffers=512MB -c work_mem=256MB"
        run(str(where / "pg_ctl"), "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"host={folder} user={USER} dbname=postgres"
        finally:
            run(str(where / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
