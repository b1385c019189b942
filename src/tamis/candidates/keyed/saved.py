"""A built index as a directory of arrays, and back."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.store import Writer, open_arrays, save_arrays
from tamis.candidates.keyed.choose import Keys
from tamis.candidates.keyed.index import Built, Index, arrays_of
from tamis.candidates.keyed.layout import Clusters
from tamis.candidates.keyed.schemas import Schemas
from tamis.errors import StorageError
from tamis.predicates.jumps import Jumps
from tamis.predicates.ranks import Ranks

KIND = "index"
PARTS: dict[str, Any] = {
    "ranks": Ranks,
    "jumps": Jumps,
    "keys": Keys,
    "keys.schemas": Schemas,
    "narrow": Clusters,
    "wide": Clusters,
}


def save_index(
    path: Path, built: Built, extra: dict[str, NDArray[np.generic]], facts: dict[str, Any], files: dict[str, Writer]
) -> None:
    """Write an index with further arrays, facts and files."""
    arrays = {**arrays_of(built.arrays), **{f"extra.{name}": array for name, array in extra.items()}}
    save_arrays(path, KIND, arrays, {**facts, "kinds": built.kinds, "expected": built.expected}, files)


def open_index(
    path: Path, verify: bool
) -> tuple[Built, dict[str, NDArray[np.generic]], dict[str, Any], dict[str, Path]]:
    """Map what `save_index` wrote: the index, the further arrays, the facts and the files."""
    stored = open_arrays(path, KIND, verify)
    arrays: dict[str, Any] = dict(stored.arrays)
    try:
        built = Built(rebuilt(Index, arrays), dict(stored.facts["kinds"]), float(stored.facts["expected"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise StorageError(f"{path} is not a complete index: {problem!r} is missing or wrong") from problem
    extra = {name.removeprefix("extra."): array for name, array in arrays.items() if name.startswith("extra.")}
    return built, extra, stored.facts, stored.files


def rebuilt(kind: Any, arrays: dict[str, Any], prefix: str = "") -> Any:
    """The named tuple whose arrays, by dotted name, are given."""
    names = [prefix + field for field in kind._fields]
    return kind(*(rebuilt(PARTS[name], arrays, f"{name}.") if name in PARTS else arrays[name] for name in names))
