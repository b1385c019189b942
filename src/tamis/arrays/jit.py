"""The `@kernel` decorator and its form for inner loops, `@leaf`: Numba in nopython mode, without the GIL, cached on disk.

Numba's own disk cache watches the file of the kernel it compiled and nothing else, so an edited callee or constant in
another file would go unnoticed. Kernels are therefore kept in a directory named after a hash of their file and of every
file of the package that it imports, directly or not: an edit compiles what may depend on it, and nothing else.
`TAMIS_CACHE_DIR` moves the cache; `TAMIS_BOUNDSCHECK=1` compiles with bounds checks (tests do), in a cache of its own.
The first compilation of a process is told to the logger `tamis.kernels`, which the command line shows.
"""

import hashlib
import logging
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import config as numba_config
from numba.core import event as numba_event
from numba.extending import intrinsic as numba_intrinsic

config: Any = numba_config
events: Any = numba_event
intrinsic: Any = numba_intrinsic
"""For primitives that only LLVM can express; its own type knows nothing of how they are called."""

P = ParamSpec("P")
R = TypeVar("R")

PACKAGE = Path(__file__).resolve().parent.parent
BOUNDSCHECK = os.environ.get("TAMIS_BOUNDSCHECK") == "1"
IMPORT = re.compile(rf"^[ \t]*(?:from|import)\s+{PACKAGE.name}\.([\w.]+)", re.MULTILINE)


@cache
def imported(file: Path) -> frozenset[Path]:
    """The files of this package that a file imports by name; of a package within it, all of them."""
    found: set[Path] = set()
    for name in IMPORT.findall(file.read_text(encoding="utf-8")):
        place = PACKAGE.joinpath(*name.split("."))
        found.update(place.glob("*.py") if place.is_dir() else place.parent.glob(f"{place.name}.py"))
    return frozenset(found)


@cache
def digest(file: Path) -> bytes:
    """The digest of one file."""
    return hashlib.blake2b(file.read_bytes(), digest_size=8).digest()


@cache
def source_hash(file: Path) -> str:
    """A short digest of a file and all it imports of this package, directly or not."""
    reached, open_ = {file}, [file]
    while open_:
        new = imported(open_.pop()) - reached
        reached |= new
        open_ += new
    return hashlib.blake2b(b"".join(sorted(map(digest, reached))), digest_size=8).hexdigest()


def cache_root() -> Path:
    """Where compiled kernels are kept."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tamis"
    return Path(os.environ.get("TAMIS_CACHE_DIR", default))


def cache_of(file: Path) -> Path:
    """Where the compiled kernels of a file are kept."""
    return cache_root() / f"{source_hash(file)}{'-checked' if BOUNDSCHECK else ''}"


class Announcer(events.Listener):  # type: ignore[misc]
    """Says once that compiling has begun, so that nobody wonders what takes a minute."""

    def on_start(self, event: object) -> None:
        """Tell, and never again."""
        events.unregister("numba:compile", self)
        logging.getLogger("tamis.kernels").info("compiling kernels, once; later starts load them from %s", cache_root())

    def on_end(self, event: object) -> None:
        """Nothing to tell."""


events.register("numba:compile", Announcer())


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call, without Python objects, and keep the machine code on disk."""
    return compiled(function)


def leaf(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel for the inner loops of others: it counts no references, so it may neither allocate nor return an array.

    Numba otherwise counts every array handed to a callee that loops, atomically, up and down again: a function of a few
    nanoseconds that is given three arrays costs fifty.
    """
    return compiled(function, _nrt=False)


def compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    """Numba's compiler with the settings all kernels share."""
    file = Path(function.__code__.co_filename)
    previous, config.CACHE_DIR = config.CACHE_DIR, str(cache_of(file))
    try:
        compile_ = numba.njit(nogil=True, cache=True, error_model="numpy", boundscheck=BOUNDSCHECK, **options)
        return cast("Callable[P, R]", compile_(function))
    finally:
        config.CACHE_DIR = previous
