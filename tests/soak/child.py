"""A broker in a process of its own that starts at once: a fork server has imported and compiled everything already."""

import ctypes
import errno
import multiprocessing
import os
import platform
import signal
import struct
from importlib import import_module
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tamis.broker.server import serve
from tamis.broker.service import Service
from tamis.errors import TamisError
from tamis.matcher import Matcher

ENGINE = "scan"
SYNC_CALLS = {"x86_64": (74, 75), "aarch64": (82, 83)}  # fsync, fdatasync
SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}
DISK_FAILED = 7


def warm() -> None:
    """Compile or load the kernels, and import what the server imports late, before the fork."""
    for name in ("loops.auto", "lifespan.on", "protocols.http.auto", "protocols.websockets.websockets_sansio_impl"):
        import_module(f"uvicorn.{name}")
    matcher = Matcher(ENGINE)
    matcher.subscribe(1, "a = 1")
    matcher.match({"a": 1})


if os.environ.get("TAMIS_SOAK_PRELOAD"):
    warm()


def run(directory: Path, port: int, engine: str | None) -> None:
    """Serve until killed; SIGUSR1 makes every later sync of this process fail."""
    signal.signal(signal.SIGUSR1, lambda *_: break_sync())
    try:
        serve(Service(directory, engine=engine), port=port)
    except TamisError:
        os._exit(DISK_FAILED)


def start(directory: Path, port: int, engine: str | None = ENGINE) -> ForkServerProcess:
    """A broker process; the caller kills it."""
    os.environ["TAMIS_SOAK_PRELOAD"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=run, args=(directory, port, engine), daemon=True)
    process.start()
    return process


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def break_sync() -> None:
    """From now on the kernel answers fsync and fdatasync of all threads with EIO (a seccomp filter)."""
    machine = platform.machine()
    first, second = SYNC_CALLS[machine]
    steps = (
        (0x20, 0, 0, 0),  # load the number of the system call
        (0x15, 2, 0, first),
        (0x15, 1, 0, second),
        (0x06, 0, 0, 0x7FFF0000),  # allow
        (0x06, 0, 0, 0x00050000 | errno.EIO),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    set_filter, all_threads, no_new_privileges = 1, 1, 38
    if libc.prctl(no_new_privileges, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    if libc.syscall(SECCOMP_CALL[machine], set_filter, all_threads, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "seccomp")
