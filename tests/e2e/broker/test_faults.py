"""Killed, no space, a failing disk, a flipped bit: what was acknowledged is there, what is not there was not acknowledged."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.broker.running import await_ready, free_port, running
from tests.soak.child import DISK_FAILED, start
from tests.soak.kill import soak

from tamis.broker.client import Client
from tamis.broker.service import Service
from tamis.broker.settings import Settings
from tamis.broker.store import TABLES, Store
from tamis.broker.testing import MemoryBroker
from tamis.errors import BrokerError, FullError, StorageError, UnknownOutcome
from tamis.model.limits import Limits

ROOT = Path(__file__).parents[3]


def test_kill_nine(tmp_path: Path) -> None:
    world, problems = soak(tmp_path, times=4, seed=3, longest=0.5)
    assert problems == []
    assert world.acknowledged > 0


def test_a_failing_sync_acknowledges_nothing_and_stops(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = start(tmp_path, port)
    try:
        await_ready(url)
        with Client(url) as client:
            mine = client.subscribe("a > 0")
            done = [client.publish({"a": n}).id for n in range(1, 4)]
            assert process.pid is not None
            os.kill(process.pid, signal.SIGUSR1)
            failed = 0
            for n in range(4, 40):
                try:
                    done.append(client.publish({"a": n}).id)
                except UnknownOutcome:
                    failed += 1
                    break
                except BrokerError:
                    break
            assert failed
        process.join(30)
        assert process.exitcode == DISK_FAILED
        process = start(tmp_path, port)
        await_ready(url)
        with Client(url) as client:
            found = [n.event_id for n in client.notifications(mine).notifications]
            assert found[: len(done)] == done  # whether the last one is there is for the disk to say
            assert client.publish({"a": 1}).matched == 1
    finally:
        process.kill()
        process.join()


def test_a_full_disk_is_told_and_reading_goes_on(tmp_path: Path) -> None:
    with running(tmp_path) as broker, broker.client() as client:
        mine = client.subscribe("a = 1")
        db = broker.service.store.db
        client.publish({"a": 1})
        pages = db.execute("PRAGMA page_count").get
        db.execute(f"PRAGMA max_page_count={pages + 4}")
        taken, refusals = 1, 0
        for n in range(40):
            try:
                client.publish({"a": 1, "n": n, "padding": "x" * 2000})
                taken += 1
            except FullError:
                refusals += 1
        assert refusals > 0
        before = len(broker.service.core.matcher)
        opened = 0
        for _ in range(20):
            try:
                client.subscribe("b = '" + "y" * 3000 + "'")
                opened += 1
            except FullError:
                pass
        assert opened < 20
        assert len(broker.service.core.matcher) == before + opened  # the refused ones match nothing
        assert client.status(mine).last == taken
        assert len(client.notifications(mine).notifications) == taken
        db.execute("PRAGMA max_page_count=1000000")
        assert client.publish({"a": 1}).matched == 1
        again = client.subscribe("b = 1")
        assert client.publish({"b": 1}).matched == 1
        client.unsubscribe(again)
    with running(tmp_path) as broker, broker.client() as client:
        assert len(client.notifications(mine).notifications) == taken + 1


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """The same on a file system of a few megabytes, where the kernel lets us mount one for ourselves."""
    mine = ["unshare", "--user", "--map-root-user", "--mount"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*mine, "mount", "-t", "tmpfs", "none", str(tmp_path)]).returncode
    ):
        pytest.skip("file systems cannot be mounted here")
    command = [*mine, sys.executable, "-m", "tests.soak.full", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "20 refused" in done.stdout


def test_a_flipped_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "broker.db"
    broker = MemoryBroker(store=Store(path))
    for n in range(30):
        broker.subscribe(f"price < {n} and item = 'thing {n}'", owner=f"owner {n}")
    mine = broker.subscribe("price > 0", webhook="https://example.com/hook")
    for n in range(30):
        broker.publish({"price": n, "item": f"thing {n % 7}"}, valid_for=1000, key=f"key {n}")
    broker.ack(mine, 5)
    broker._do(lambda core: core.refused(number=31, n=6, made=2, pause=60))
    broker.store.db.wal_checkpoint()
    broker.store.close()
    good = path.read_bytes()

    def content() -> object:
        with_store = Store(path)
        rows = [with_store.db.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]
        with_store.close()
        return rows

    right = content()
    dice = random.Random(7)
    spots = {good.index(b"price < 7"), good.index(b"thing 3"), *(dice.randrange(len(good)) for _ in range(250))}
    noticed = 0
    for at in sorted(spots):
        for name in ("broker.db-wal", "broker.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        hurt = bytearray(good)
        hurt[at] ^= 1 << dice.randrange(8)
        path.write_bytes(hurt)
        try:
            assert content() == right, f"byte {at} changes what is read"
        except StorageError:
            noticed += 1
    assert noticed > 30


def test_one_directory_one_broker(tmp_path: Path) -> None:
    with running(tmp_path), pytest.raises(StorageError, match="in use"):
        Service(tmp_path)


def test_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "broker.db").write_bytes(b"this is not a database at all" * 1000)
    with pytest.raises(StorageError):
        Service(tmp_path)


def test_restart_goes_on_from_the_saved_index(tmp_path: Path) -> None:
    with running(tmp_path, engine="tamis") as broker, broker.client() as client:
        kept, replaced, gone = (client.subscribe(f"n = {n}") for n in range(3))
        client.replace(replaced, "n = 10")
        client.unsubscribe(gone)
    assert list((tmp_path / "index").glob("index-*"))
    with running(tmp_path, engine="tamis") as broker, broker.client() as client:
        assert client.publish({"n": [0, 2, 10]}).matched == 2
        late = client.subscribe("n = 2")
        client.replace(kept, "n = 11")
        broker.service.core.changes = 0  # as after a crash: the index is not saved again
    with running(tmp_path, engine="tamis") as broker, broker.client() as client:
        assert client.publish({"n": [2, 10, 11]}).matched == 3
        client.unsubscribe(late)
    for file in (tmp_path / "index").rglob("*"):
        if file.is_file():
            file.write_bytes(b"junk")
    with running(tmp_path, engine="tamis") as broker, broker.client() as client:
        assert client.publish({"n": [2, 10, 11]}).matched == 2


def test_limits_of_ones_own_hold_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(limits=Limits(predicates=80))
    long = " and ".join(f"a{n} = 1" for n in range(70))
    for _ in range(2):
        with running(tmp_path, settings, "tamis") as broker, broker.client() as client:
            client.subscribe(long)
    with running(tmp_path, settings, "tamis") as broker, broker.client() as client:
        assert client.publish({f"a{n}": 1 for n in range(70)}).matched == 2
