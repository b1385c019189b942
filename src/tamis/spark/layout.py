"""The index directory: immutable versions side by side, and one small file that names the current one.

    index/
      CURRENT                  the name of the version to use, replaced in one step
      v000001/
        manifest.json          format, counts, engine, shards
        dictionary.arrow
        profile.json           what was known of the events (if anything)
        quarantine/            subscriptions that could not be compiled, as Parquet (if any)
        shard-00000/           one self-contained part of the subscription set

The directory must be visible to the driver and to all executors: a shared file system, or the disk of one machine.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tamis.errors import StorageError

FORMAT = 1
CURRENT, MANIFEST, DICTIONARY, QUARANTINE = "CURRENT", "manifest.json", "dictionary.arrow", "quarantine"
TASKS, PROFILE = "tasks.parquet", "profile.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a version of an index holds. `several`: some subscription has more than one conjunction; `tasks`: how many
    conjunctions need operators."""

    version: str
    engine: str
    options: dict[str, Any]
    id_type: str
    subscriptions: int
    conjunctions: int
    predicates: int
    quarantined: int
    bytes: int
    several: bool
    validity: bool
    tasks: int
    shards: list[str]
    format: int = FORMAT
    operators: list[str] = field(default_factory=list)
    """Modules to import on workers because they declare operators."""

    def write(self, directory: Path) -> None:
        """Write the manifest; the version is complete with it."""
        write_text(directory / MANIFEST, json.dumps(asdict(self), indent=2))

    @staticmethod
    def read(directory: Path) -> "Manifest":
        """The manifest of a version directory, or a StorageError that says what to do."""
        try:
            found = json.loads((directory / MANIFEST).read_text())
            if found["format"] != FORMAT:
                raise StorageError(
                    f"the index {directory} has format {found['format']!r}, this version of tamis reads {FORMAT}; "
                    "compile the subscriptions again"
                )
            return Manifest(**found)
        except OSError as problem:
            raise StorageError(f"cannot read an index at {directory}: {problem.strerror or problem}") from problem
        except (ValueError, KeyError, TypeError) as problem:
            raise StorageError(f"{directory / MANIFEST} is damaged: {problem}") from problem


def current_version(index: str | Path) -> str:
    """The name of the current version of an index."""
    try:
        return (Path(index) / CURRENT).read_text().strip()
    except OSError as problem:
        raise StorageError(f"there is no index at {index}: {problem.strerror or problem}") from problem


def next_version(index: Path) -> str:
    """The name after the highest there is, used or not."""
    numbers = [int(entry.name[1:]) for entry in index.glob("v*") if entry.name[1:].isdigit()]
    return f"v{max(numbers, default=0) + 1:06d}"


def publish(index: Path, version: str) -> None:
    """Make a complete version the current one."""
    write_text(index / CURRENT, version)


def write_text(path: Path, text: str) -> None:
    """Write a file in one step: readers see the old text or the new one."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)
