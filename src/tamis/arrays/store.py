"""Named arrays in a directory: written once, in one step, and mapped by any number of processes.

    manifest.json          format, kind, array table (dtype, shape, place), other files, sizes, checksums, and its own checksum
    arrays-<token>.bin     all arrays one after the other, each at a page boundary
    <name>-<token>         files of the caller, written by a function it gives

A save writes files of new names, makes them durable, and only then replaces the manifest in one step: whatever interrupts
it, a reader finds the old content or the new. Files no manifest names are left over from an interrupted save and removed by
the next. Mappings are private: pages are shared until somebody writes to them, and nothing ever reaches the disk.
"""

import hashlib
import json
import mmap
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import leaf
from tamis.errors import StorageError

FORMAT, MANIFEST, PAGE = 4, "manifest.json", 4096
Writer = Callable[[Path], object]


@dataclass(frozen=True, slots=True)
class Stored:
    """What a directory holds: arrays, paths of other files, and the facts saved with them."""

    arrays: dict[str, NDArray[np.generic]]
    files: dict[str, Path]
    facts: dict[str, Any]


def save_arrays(
    path: Path,
    kind: str,
    arrays: Mapping[str, NDArray[np.generic]],
    facts: Mapping[str, Any],
    files: Mapping[str, Writer],
) -> None:
    """Write a directory; one that exists is replaced only if it holds the same kind. What a disk refuses leaves no trace."""
    token, replaced = secrets.token_hex(8), False
    try:
        if path.exists() and not ours(path, kind):
            raise StorageError(f"{path} exists and does not hold a saved {kind}; choose another place")
        path.mkdir(parents=True, exist_ok=True)
        data = path / f"arrays-{token}.bin"
        table, end = [], 0
        with data.open("xb") as out:
            for name, array in arrays.items():
                out.write(b"\0" * (-end % PAGE))
                end += -end % PAGE
                table.append([name, array.dtype.str, list(array.shape), end])
                end += out.write(np.ascontiguousarray(array).tobytes())
            out.flush()
            os.fsync(out.fileno())
        names = {name: f"{name}-{token}" for name in files}
        for name, write in files.items():
            write(path / names[name])
            sync(path / names[name])
        written = [data.name, *names.values()]
        manifest = {
            "format": FORMAT,
            "kind": kind,
            "token": token,
            "arrays": table,
            "files": names,
            "sizes": {name: (path / name).stat().st_size for name in written},
            "checksums": {name: checksum(path / name) for name in written},
            "facts": dict(facts),
        }
        fresh = path / f"{MANIFEST}-{token}"
        fresh.write_text(json.dumps({**manifest, "checksum": digest(manifest)}, indent=1))
        sync(fresh)
        fresh.replace(path / MANIFEST)
        replaced = True
        sync(path)
        for entry in path.iterdir():
            if entry.name != MANIFEST and entry.name not in written:
                with suppress(OSError):  # in the way of nobody
                    entry.unlink()
    except OSError as problem:
        with suppress(OSError):  # room for the next attempt, but never what the manifest names
            for entry in () if replaced else path.glob(f"*-{token}*"):
                entry.unlink()
        raise StorageError(f"cannot save to {path}: {problem.strerror or problem}") from problem


def open_arrays(path: Path, kind: str, verify: bool = True) -> Stored:
    """Map a directory; `verify` reads everything once to compare checksums, otherwise only names and sizes are checked."""
    try:
        manifest = json.loads((path / MANIFEST).read_text())
        claimed = manifest.pop("checksum", None)
        if manifest.get("format") != FORMAT:
            raise StorageError(
                f"{path} has format {manifest.get('format')!r}; this version reads {FORMAT}: save it again"
            )
        if claimed != digest(manifest):
            raise StorageError(f"{path / MANIFEST} is damaged: its checksum does not fit its content")
        if manifest["kind"] != kind:
            raise StorageError(f"{path} holds a saved {manifest['kind']}, not a {kind}")
        for name, size in manifest["sizes"].items():
            if (found := (path / name).stat().st_size) != size:
                raise StorageError(f"{path / name} is damaged: it has {found:,} bytes, not {size:,}")
            if verify and checksum(path / name) != manifest["checksums"][name]:
                raise StorageError(f"{path / name} is damaged: its checksum is not the manifest's")
        arrays = mapped(path / f"arrays-{manifest['token']}.bin", manifest["arrays"])
    except OSError as problem:
        raise StorageError(f"cannot read a saved {kind} at {path}: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise StorageError(f"{path / MANIFEST} is damaged: {problem}") from problem
    return Stored(arrays, {name: path / file for name, file in manifest["files"].items()}, manifest["facts"])


def mapped(file: Path, table: list[Any]) -> dict[str, NDArray[np.generic]]:
    """The arrays of a data file, over one private mapping."""
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        memory = mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_COPY) if size else b""
    found = {}
    for name, dtype, shape, at in table:
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(memory, dtype, count, at) if count else np.zeros(0, dtype)
        found[name] = flat.reshape(shape)
    return found


def ours(path: Path, kind: str) -> bool:
    """Whether a directory is empty, left over by an interrupted save, or a saved `kind`."""
    if not path.is_dir():
        return False
    if (path / MANIFEST).exists():
        try:
            return bool(json.loads((path / MANIFEST).read_text()).get("kind") == kind)
        except (ValueError, AttributeError):
            return False
    return all("-" in entry.name for entry in path.iterdir())


def digest(manifest: dict[str, Any]) -> str:
    """A digest of a manifest's content."""
    return hashlib.blake2b(json.dumps(manifest, sort_keys=True).encode(), digest_size=16).hexdigest()


def checksum(file: Path) -> str:
    """A 64-bit checksum of a file, at the speed of memory: it is there to notice accidents, not forgers."""
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size == 0:
            return f"{0:016x}"
        with mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_COPY) as memory:
            octets = np.frombuffer(memory, np.uint8)
            words = octets[: size // 8 * 8].view(np.uint64)
            found = int(mix(words, octets[size // 8 * 8 :]))
            del octets, words
    return f"{found:016x}"


@leaf
def mix(words: NDArray[np.uint64], rest: NDArray[np.uint8]) -> int:
    """Four interleaved multiply-and-xor chains over `words`, then `rest`, folded into one number."""
    prime = np.uint64(0x9E3779B97F4A7C15)
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(len(words) * 8 + len(rest))
    whole = len(words) // 4 * 4
    for i in range(0, whole, 4):
        a = (a ^ words[i]) * prime
        b = (b ^ words[i + 1]) * prime
        c = (c ^ words[i + 2]) * prime
        d = (d ^ words[i + 3]) * prime
    for i in range(whole, len(words)):
        a = (a ^ words[i]) * prime
    for octet in rest:
        b = (b ^ np.uint64(octet)) * prime
    for other in (b, c, d):
        a ^= a >> np.uint64(29)
        a = (a ^ other) * prime
    return int(a ^ a >> np.uint64(32))


def sync(path: Path) -> None:
    """Make a file or directory durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
