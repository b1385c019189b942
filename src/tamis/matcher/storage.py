"""Saved matchers: a directory with the subscriptions as an Arrow file and a manifest that names it with its checksum.

An engine that can be saved puts its index beside them, so that loading parses nothing; the texts are kept for other engines
and for people. A save writes files of new names and then replaces the manifest in one step, so whatever interrupts it, a
reader finds the old subscriptions or the new ones.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.arrays.store import digest
from tamis.errors import StorageError
from tamis.model.portable import type_from_data, type_to_data
from tamis.model.schema import PublicationType
from tamis.model.subscription import SubscriptionId

FORMAT = 3
MANIFEST = "manifest.json"
OURS = re.compile(r"manifest\.json|\.?subscriptions-[0-9a-f]+\.arrow(\.manifest)?|index-[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Saved:
    """What a directory holds."""

    engine: str
    options: dict[str, Any]
    type: PublicationType | None
    schedule: str
    pairs: list[tuple[SubscriptionId, str]]
    dense: list[int]
    index: Path | None = None


def save(
    path: Path,
    take: Callable[[Path], tuple[list[tuple[int, SubscriptionId, str]], bool]],
    engine: str,
    options: dict[str, Any],
    type: PublicationType | None,
    schedule: str,
) -> None:
    """Write the subscriptions. `take` gives them as (dense id, id, text), and saves the engine's index at the place it is told
    if that can be done, which it answers too. An existing directory is replaced only when it is a saved matcher itself."""
    if path.exists() and (not path.is_dir() or any(not OURS.fullmatch(entry.name) for entry in path.iterdir())):
        raise StorageError(f"{path} exists and is not a saved matcher; choose another place")
    name = secrets.token_hex(8)
    file, index = path / f"subscriptions-{name}.arrow", path / f"index-{name}"
    fresh, replaced = path / f".{file.name}.manifest", False
    try:
        path.mkdir(parents=True, exist_ok=True)
        rows, indexed = take(index)
        table = pa.table(
            {
                "text_id": pa.array([i if isinstance(i, str) else None for _, i, _ in rows], pa.string()),
                "number_id": pa.array([None if isinstance(i, str) else i for _, i, _ in rows], pa.int64()),
                "filter": pa.array([f for _, _, f in rows], pa.string()),
                "dense": pa.array([d for d, _, _ in rows], pa.int32()),
            }
        )
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        sync(file)
        manifest = {
            "format": FORMAT,
            "engine": engine,
            "options": options,
            "type": type_to_data(type) if type else None,
            "schedule": schedule,
            "file": file.name,
            "checksum": checksum(file),
            "index": index.name if indexed else None,
        }
        fresh.write_text(json.dumps({**manifest, "digest": digest(manifest)}, indent=2))
        sync(fresh)
        fresh.replace(path / MANIFEST)
        replaced = True
        sync(path)
        for left_over in (*path.glob("subscriptions-*.arrow"), *path.glob(".*.manifest")):
            if left_over != file:
                with suppress(OSError):  # in the way of nobody
                    left_over.unlink()
        for left_over in path.glob("index-*"):
            if left_over != index:
                shutil.rmtree(left_over, ignore_errors=True)
    except (OSError, StorageError) as problem:
        if not replaced:  # room for the next attempt, but never what the manifest names
            with suppress(OSError):
                file.unlink(missing_ok=True)
                fresh.unlink(missing_ok=True)
            shutil.rmtree(index, ignore_errors=True)
        if isinstance(problem, StorageError):
            raise
        raise StorageError(f"cannot save to {path}: {problem.strerror or problem}") from problem


def load(path: Path) -> Saved:
    """Read and check a directory written by `save`."""
    try:
        manifest = json.loads((path / MANIFEST).read_text())
        if manifest.get("format") != FORMAT:
            raise StorageError(f"{path} has format {manifest.get('format')!r}; this version reads {FORMAT}")
        if manifest.pop("digest", None) != digest(manifest):
            raise StorageError(f"{path / MANIFEST} is damaged: its digest does not fit its content")
        file = path / manifest["file"]
        if checksum(file) != manifest["checksum"]:
            raise StorageError(f"{file} is damaged: its checksum is not the manifest's")
        with pa.memory_map(str(file)) as source:
            columns = pa.ipc.open_file(source).read_all().to_pydict()
    except OSError as problem:
        raise StorageError(f"cannot read a saved matcher at {path}: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, AttributeError) as problem:
        raise StorageError(f"{path / MANIFEST} is damaged: {problem}") from problem
    ids = [
        text if text is not None else number
        for text, number in zip(columns["text_id"], columns["number_id"], strict=True)
    ]
    declared = type_from_data(manifest["type"]) if manifest["type"] else None
    schedule = manifest.get("schedule", "suborder")
    pairs = list(zip(ids, columns["filter"], strict=True))
    index = path / manifest["index"] if manifest.get("index") else None
    return Saved(manifest["engine"], manifest["options"], declared, schedule, pairs, columns["dense"], index)


def checksum(file: Path) -> str:
    """A digest of a file's content."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "blake2b").hexdigest()


def sync(path: Path) -> None:
    """Make a file or directory durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
