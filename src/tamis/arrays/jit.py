"""The `@kernel` decorator and its form for inner loops, `@leaf`: Numba in nopython mode, without the GIL, cached on disk.

Numba's own disk cache watches the file of the kernel it compiled and nothing else, so an edited callee in another file
would go unnoticed. The cache directory is therefore named after a hash of every file that may hold kernels.
`TAMIS_CACHE_DIR` moves the cache; `TAMIS_BOUNDSCHECK=1` compiles with bounds checks (tests do), in a cache of its own.
The first compilation of a process is told to the logger `tamis.kernels`, which the command line shows.
"""

import hashlib
import logging
import os
from collections.abc import Callable
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
KERNEL_ROOMS = ("arrays", "predicates", "candidates", "engines")
BOUNDSCHECK = os.environ.get("TAMIS_BOUNDSCHECK") == "1"


def source_hash() -> str:
    """A short digest of all files that may hold kernels."""
    digest = hashlib.blake2b(digest_size=8)
    for room in KERNEL_ROOMS:
        for file in sorted((PACKAGE / room).rglob("*.py")):
            digest.update(str(file.relative_to(PACKAGE)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def cache_root() -> Path:
    """Where compiled kernels are kept."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tamis"
    return Path(os.environ.get("TAMIS_CACHE_DIR", default))


CACHE_DIR = cache_root() / f"{source_hash()}{'-checked' if BOUNDSCHECK else ''}"


class Announcer(events.Listener):  # type: ignore[misc]
    """Says once that compiling has begun, so that nobody wonders what takes a minute."""

    def on_start(self, event: object) -> None:
        """Tell, and never again."""
        events.unregister("numba:compile", self)
        logging.getLogger("tamis.kernels").info("compiling kernels, once; later starts load them from %s", CACHE_DIR)

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
    previous, config.CACHE_DIR = config.CACHE_DIR, str(CACHE_DIR)
    try:
        compile_ = numba.njit(nogil=True, cache=True, error_model="numpy", boundscheck=BOUNDSCHECK, **options)
        return cast("Callable[P, R]", compile_(function))
    finally:
        config.CACHE_DIR = previous
