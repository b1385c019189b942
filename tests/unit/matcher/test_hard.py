"""Unkind input, small; `tests/soak/hard.py` has it at full size."""

import errno
import json
import os
import resource
import sys
from pathlib import Path

import pytest
from tests.soak import hard
from tests.soak.killed import kill_while_saving

from tamis import Matcher
from tamis.errors import EventError, LimitError, StorageError


@pytest.mark.parametrize(
    ("task", "count"), [(hard.identical, 3000), (hard.longest, 5), (hard.constants, 70_000), (hard.widest, 2000)]
)
def test_unkind_input(task, count):
    task(count)


def test_one_attribute_or_predicate_more_is_refused():
    matcher = Matcher()
    with pytest.raises(EventError, match="256"):
        matcher.match({f"a{n}": 1 for n in range(257)})
    with pytest.raises(LimitError, match="predicates = 64"):
        matcher.subscribe("x", " and ".join(f"a{n} = 1" for n in range(65)))


@pytest.fixture
def saved(tmp_path):
    matcher = Matcher()
    matcher.subscribe_many((i, f"a = {i} and b = 'text {i}'") for i in range(200))
    matcher.save(tmp_path / "saved")
    return tmp_path / "saved"


def files(saved: Path) -> list[Path]:
    return sorted(file for file in saved.rglob("*") if file.is_file())


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("harm", ["cut", "emptied", "flipped", "longer", "gone"])
def test_a_harmed_file_is_refused(saved, number, harm):
    """The manifest and the subscriptions of the matcher; manifest, arrays and dictionary of its index."""
    found = files(saved)
    assert len(found) == 5
    file = found[number]
    content = file.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 4
    changed = {
        "cut": content[: len(content) * 2 // 3],
        "emptied": b"",
        "flipped": bytes(flipped),
        "longer": content * 2,
    }
    if harm == "gone":
        file.unlink()
    else:
        file.write_bytes(changed[harm])
    with pytest.raises(StorageError, match=str(saved)):
        Matcher.load(saved)


def test_an_index_of_another_version_is_refused(saved):
    file = next(saved.glob("index-*/manifest.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99}))
    with pytest.raises(StorageError, match="format 99; this version reads"):
        Matcher.load(saved)


def forked(task) -> int:
    """The exit status of a child that runs a task; 0 if it returns."""
    child = os.fork()
    if child == 0:
        try:
            task()
            os._exit(0)
        except BaseException as problem:
            sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_directory_that_may_not_be_written_is_told(saved, tmp_path):
    before = {file: file.read_bytes() for file in files(saved)}
    saved.chmod(0o555)
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)

    def save() -> None:
        if os.geteuid() == 0:  # root may write anywhere
            os.setuid(65534)
        with pytest.raises(StorageError, match=os.strerror(errno.EACCES)):
            Matcher().save(saved)

    assert forked(save) == 0
    assert {file: file.read_bytes() for file in files(saved)} == before


@pytest.mark.parametrize("room", [0, 1000, 5000, 20_000])
def test_a_full_disk_is_told_and_what_was_there_stays(saved, room):
    """No file may grow beyond `room` bytes, wherever in the save that strikes."""
    larger = Matcher()
    larger.subscribe_many((i, f"a = {i} and b = 'other text {i}'") for i in range(1000))
    larger.match({})
    before = {file: file.read_bytes() for file in files(saved)}

    def save() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        with pytest.raises(StorageError, match=os.strerror(errno.EFBIG)):
            larger.save(saved)

    assert forked(save) == 0
    assert {file: file.read_bytes() for file in saved.rglob("*") if file.is_file()} == before
    assert len(list(saved.iterdir())) == 3, "nothing is left of the attempt"
    assert Matcher.load(saved).match({"a": 3, "b": "text 3"}) == [3]
    larger.save(saved)
    assert len(files(saved)) == 5
    assert len(Matcher.load(saved)) == 1000


def test_killed_while_saving(tmp_path):
    kill_while_saving(tmp_path / "saved", times=5)
