"""The inside of a worker process: loads one operator, then answers calls over a socket until it is closed.

Frames are a four-byte length and a msgpack message, so nothing a worker sends can run code in its parent. The memory limit
counts from what the process holds once the operator is loaded: libraries are not the operator's fault.
"""

import os
import resource
import runpy
import signal
import socket
import struct
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from tamis.model.predicate import OperatorPredicate, Variable
from tamis.model.values import Scalar
from tamis.operators.answer import input_arguments, interpret
from tamis.operators.event import Absent, EventView
from tamis.operators.registry import Operator

MAIN = "__tamis_worker__"
GRACE = 5.0  # a worker whose parent is gone ends itself this many seconds after its own time limit


class Load(msgspec.Struct, array_like=True):
    """Which function to run, under which limits."""

    name: str
    module: str
    qualname: str
    main: str
    outputs: int | None
    seconds: float
    megabytes: int
    bindings: int


class Call(msgspec.Struct, array_like=True):
    """One evaluation. A variable is sent as a list with its name in it."""

    event: dict[str, list[Scalar]]
    arguments: list[Scalar | list[str]]


class Reply(msgspec.Struct, array_like=True):
    """Truth (None: unknown), rows, and what went wrong."""

    truth: bool | None
    rows: list[list[Scalar]]
    problem: str = ""


def main(descriptor: int) -> None:
    """Serve on an inherited socket."""
    os.dup2(2, 1)  # what the operator prints must not look like an answer, nor fill a pipe nobody reads
    with socket.socket(fileno=descriptor) as channel:
        order = msgspec.msgpack.decode(receive(channel), type=Load)
        try:
            operator = load(order)
        except BaseException as problem:
            send(channel, msgspec.msgpack.encode(describe(problem)))
            return
        send(channel, msgspec.msgpack.encode(""))
        limit_memory(order.megabytes << 20)
        while True:
            call = msgspec.msgpack.decode(receive(channel), type=Call)
            signal.setitimer(signal.ITIMER_REAL, order.seconds + GRACE)
            reply = answer(operator, call)
            signal.setitimer(signal.ITIMER_REAL, 0)
            send(channel, msgspec.msgpack.encode(reply))


def load(order: Load) -> Operator:
    """The function as an Operator; one from a script is found by running the script under another name."""
    if order.main:
        target: Any = runpy.run_path(order.main, run_name=MAIN)
        parts = order.qualname.split(".")
        target = target[parts.pop(0)]
    else:
        target, parts = import_module(order.module), order.qualname.split(".")
    for part in parts:
        target = getattr(target, part)
    return Operator(order.name, target, outputs=order.outputs, bindings=order.bindings)


def limit_memory(room: int) -> None:
    """Let the address space grow by no more than `room` bytes from here."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    limit = pages * resource.getpagesize() + room
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def answer(operator: Operator, call: Call) -> Reply:
    """Run the operator; whatever it raises becomes an unknown with a reason."""
    arguments = tuple(Variable(a[0]) if isinstance(a, list) else a for a in call.arguments)
    predicate = OperatorPredicate(operator.name, arguments)
    event = EventView({name: tuple(values) for name, values in call.event.items()})
    try:
        found = interpret(operator, predicate, operator.function(event, *input_arguments(operator, predicate)))
        return Reply(found.truth, [list(row) for row in found.rows])
    except Absent:
        return Reply(None, [])
    except (Exception, SystemExit) as problem:
        return Reply(None, [], describe(problem))


def describe(problem: BaseException) -> str:
    """An exception in one line."""
    text = str(problem).strip().split("\n")[0][:300]
    return f"{problem.__class__.__name__}: {text}" if text else problem.__class__.__name__


def receive(channel: socket.socket) -> bytes:
    """One frame; ends the process when the parent has gone."""
    (length,) = struct.unpack("!I", read(channel, 4))
    return read(channel, length)


def read(channel: socket.socket, length: int) -> bytes:
    """Exactly `length` bytes."""
    parts = []
    while length:
        part = channel.recv(min(length, 1 << 16))
        if not part:
            raise SystemExit(0)
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def send(channel: socket.socket, body: bytes) -> None:
    """One frame."""
    channel.sendall(struct.pack("!I", len(body)) + body)
