"""Saved arrays: what is written is what is mapped, and whatever is wrong is refused by name."""

import json
import os

import numpy as np
import pytest

from tamis.arrays.store import MANIFEST, checksum, open_arrays, save_arrays
from tamis.errors import StorageError

ARRAYS: dict[str, np.ndarray] = {
    "a": np.arange(5000, dtype=np.int32),
    "none": np.zeros(0, np.int64),
    "b": np.ones(3, np.uint8),
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "index"
    save_arrays(path, "index", ARRAYS, {"n": 3}, {"note": lambda file: file.write_text("hello")})
    return path


def test_round_trip(saved):
    for verify in (True, False):
        stored = open_arrays(saved, "index", verify)
        assert all(np.array_equal(stored.arrays[name], array) for name, array in ARRAYS.items())
        assert all(stored.arrays[name].dtype == array.dtype for name, array in ARRAYS.items())
        assert stored.facts == {"n": 3}
        assert stored.files["note"].read_text() == "hello"


def test_a_mapping_is_private(saved):
    stored = open_arrays(saved, "index")
    stored.arrays["a"][:] = 0
    assert open_arrays(saved, "index").arrays["a"][7] == 7


def test_saving_again_replaces_and_clears(saved):
    (saved / "arrays-0123.bin").write_bytes(b"left over")
    save_arrays(saved, "index", {"a": np.zeros(1)}, {}, {})
    assert len(list(saved.iterdir())) == 2
    assert open_arrays(saved, "index").arrays["a"].tolist() == [0.0]


def damage(path, change):
    file = next(path.glob("arrays-*.bin"))
    file.write_bytes(change(file.read_bytes()))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda path: damage(path, lambda data: data[:-1]), "bytes"),
        (lambda path: damage(path, lambda data: data[:9] + b"!" + data[10:]), "checksum"),
        (lambda path: next(path.glob("arrays-*.bin")).unlink(), "cannot read"),
        (lambda path: (path / MANIFEST).unlink(), "cannot read"),
        (lambda path: (path / MANIFEST).write_text("{"), "damaged"),
        (lambda path: (path / MANIFEST).write_text("[]"), "damaged"),
        (lambda path: edit(path, format=99), "format 99"),
        (lambda path: edit(path, facts={"n": 4}), "checksum"),
    ],
)
def test_what_is_wrong_is_refused(saved, harm, words):
    harm(saved)
    with pytest.raises(StorageError, match=words):
        open_arrays(saved, "index")


def edit(path, **changes):
    manifest = json.loads((path / MANIFEST).read_text())
    (path / MANIFEST).write_text(json.dumps({**manifest, **changes}))


def test_another_kind_is_refused(saved):
    with pytest.raises(StorageError, match="holds a saved index"):
        open_arrays(saved, "map")
    with pytest.raises(StorageError, match="choose another place"):
        save_arrays(saved, "map", {}, {}, {})


def test_a_directory_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(StorageError, match="choose another place"):
        save_arrays(tmp_path, "index", {}, {}, {})
    assert (tmp_path / "letters.txt").read_text() == "dear"


def test_a_failed_write_leaves_the_old(saved):
    def full(file):
        raise OSError(28, os.strerror(28))

    with pytest.raises(StorageError, match="No space left"):
        save_arrays(saved, "index", {"a": np.zeros(9)}, {}, {"note": full})
    assert open_arrays(saved, "index").facts == {"n": 3}


def test_what_cannot_be_cleared_away_harms_nothing(saved):
    (saved / "of-somebody").mkdir()
    (saved / "of-somebody/letter.txt").write_text("dear")
    save_arrays(saved, "index", {"a": np.arange(9)}, {"n": 4}, {})
    assert open_arrays(saved, "index").facts == {"n": 4}
    assert open_arrays(saved, "index").arrays["a"].tolist() == list(range(9))
    assert (saved / "of-somebody/letter.txt").read_text() == "dear"


def test_checksums_tell_files_apart(tmp_path):
    seen = set()
    for size in (0, 1, 7, 8, 9, 31, 32, 33, 100):
        for octet in (0, 1):
            file = tmp_path / f"{size}-{octet}"
            file.write_bytes(bytes([octet]) * size)
            seen.add(checksum(file))
    assert len(seen) == 17
