"""Isolated operators: one worker process each, started when first needed, killed when it overruns, replaced when it dies.

A call is over when the worker answers, when its time is up, or when its process is gone; in every case the caller has an
answer at once. Starting a worker (imports, models) has a limit of its own and does not count as the operator's time.
"""

import inspect
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path

import msgspec

from tamis.errors import OperatorError
from tamis.model.event import Event
from tamis.model.predicate import OperatorPredicate, Variable
from tamis.operators.answer import Answer
from tamis.operators.registry import Operator
from tamis.operators.worker import Call, Load, Reply

START_SECONDS = 60.0
LARGEST = 64 << 20
PROGRAM = "import sys; from tamis.operators.worker import main; main(int(sys.argv[1]))"


class Overrun(Exception):
    """The worker gave no whole answer in time."""


class Gone(Exception):
    """The worker's process ended."""


class Isolated:
    """The worker of one operator."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.order = loading_order(operator)
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._finalizer: weakref.finalize[..., Isolated] | None = None

    def evaluate(self, event: Event, predicate: OperatorPredicate) -> Answer:
        """One evaluation, within the operator's time and memory."""
        try:
            channel = self._running()
        except (Overrun, Gone):
            self.close()
            return Answer(None, problem="its worker process did not start")
        except OperatorError as problem:
            self.close()
            return Answer(None, problem=str(problem))
        arguments = [[a.name] if isinstance(a, Variable) else a for a in predicate.arguments]
        call = Call({name: list(values) for name, values in event.items()}, arguments)
        deadline = time.monotonic() + self.operator.seconds
        try:
            transmit(channel, msgspec.msgpack.encode(call), deadline)
            reply = msgspec.msgpack.decode(collect(channel, deadline), type=Reply)
        except Overrun:
            self.close()
            return Answer(None, problem=f"it took longer than seconds = {self.operator.seconds:g} and was ended")
        except Gone:
            return Answer(None, problem=f"its worker process ended ({self.close()})")
        except msgspec.MsgspecError:
            self.close()
            return Answer(None, problem="its worker process sent nonsense")
        return Answer(reply.truth, [tuple(row) for row in reply.rows], reply.problem)

    def start(self) -> None:
        """Have the worker ready before the first event."""
        self._running()

    def close(self) -> str:
        """End the worker; says how it ended."""
        process, channel = self._process, self._channel
        self._process = self._channel = None
        if self._finalizer is not None:
            self._finalizer.detach()
        return end(process, channel) if process is not None and channel is not None else "not started"

    def _running(self) -> socket.socket:
        if self._channel is not None and self._process is not None and self._process.poll() is None:
            return self._channel
        self.close()
        mine, theirs = socket.socketpair()
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,  # so that what the operator starts ends with it
            )
        self._process, self._channel = process, mine
        self._finalizer = weakref.finalize(self, end, process, mine)
        deadline = time.monotonic() + START_SECONDS
        transmit(mine, msgspec.msgpack.encode(self.order), deadline)
        problem = msgspec.msgpack.decode(collect(mine, deadline), type=str)
        if problem:
            raise OperatorError(f"its worker process could not load it: {problem}")
        return mine


def loading_order(operator: Operator) -> Load:
    """How a worker finds the function; refuses functions that cannot be imported."""
    function = operator.function
    if "<" in function.__qualname__:
        raise OperatorError(
            f"operator {operator.name!r} is isolated, so its function must stand at the top of a module, "
            f"not be {function.__qualname__!r}"
        )
    main = ""
    if function.__module__ == "__main__":
        main = inspect.getsourcefile(function) or ""
        if not Path(main).is_file():
            raise OperatorError(f"operator {operator.name!r} is isolated, so its function must stand in a file")
    limits = (operator.outputs, operator.seconds, operator.megabytes, operator.bindings)
    return Load(operator.name, function.__module__, function.__qualname__, main, *limits)


def end(process: "subprocess.Popen[bytes]", channel: socket.socket) -> str:
    """Kill a worker with everything it started; says what became of it."""
    channel.close()
    try:
        code = process.wait(0.2)
    except subprocess.TimeoutExpired:
        code = None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if code is None:
        process.wait()
        return "killed"
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def transmit(channel: socket.socket, body: bytes, deadline: float) -> None:
    """Send a frame."""
    channel.settimeout(max(0.001, deadline - time.monotonic()))
    try:
        channel.sendall(struct.pack("!I", len(body)) + body)
    except TimeoutError:
        raise Overrun from None
    except OSError:
        raise Gone from None


def collect(channel: socket.socket, deadline: float) -> bytes:
    """Receive a frame."""
    (length,) = struct.unpack("!I", gather(channel, 4, deadline))
    if length > LARGEST:
        raise Gone
    return gather(channel, length, deadline)


def gather(channel: socket.socket, length: int, deadline: float) -> bytes:
    """Receive exactly `length` bytes before the deadline."""
    parts = []
    while length:
        ready, _, _ = select.select([channel], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise Overrun
        try:
            part = channel.recv(min(length, 1 << 16))
        except OSError:
            raise Gone from None
        if not part:
            raise Gone
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
