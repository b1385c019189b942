"""The one thread that changes things. It takes whatever waits, runs it as one group, commits, and only then answers.

While one commit is on its way to the disk, the next group gathers: under load many changes share one sync, and alone a
change waits for nobody. Neighbouring publishes of a group are matched together.

A full disk undoes the group and answers so. Any other error of the disk leaves the outcome unknown: nothing is acknowledged
any more, the writer stops, and what the disk really holds is found out at the next start.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import apsw

from tamis.broker.core import Core, Incoming, Outcome
from tamis.broker.settings import Settings
from tamis.broker.store import Store
from tamis.errors import BusyError, ConflictError, FullError, TamisError, UnknownOutcome

T = TypeVar("T")
Answers = list[Outcome | ConflictError]
log = logging.getLogger("tamis.broker")
SWEEP_EVERY = 1.0


class Watcher(Protocol):
    """Who wants to know what the writer does; called from its thread."""

    def committed(self, touched: set[int], events: int, matched: int, seconds: float) -> None:
        """A group is durable; these queues have changed."""

    def failed(self, problem: UnknownOutcome) -> None:
        """The writer has stopped for good."""


@dataclass(slots=True)
class Command:
    """Something to do and where the answer goes; publishes carry their events, everything else a function."""

    future: Future[Any]
    events: Sequence[Incoming] = ()
    call: Callable[[Core], Any] | None = None


class Writer:
    """Owns the core and the store's writing connection."""

    def __init__(self, core: Core, store: Store, settings: Settings, watcher: Watcher) -> None:
        self.core, self.store, self.settings, self.watcher = core, store, settings, watcher
        self.waiting_events = 0
        self.failure: UnknownOutcome | None = None
        self._waiting: deque[Command] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._swept = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)

    @property
    def waiting(self) -> int:
        """How many commands wait."""
        return len(self._waiting)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def close(self) -> None:
        """Finish what waits, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def publish(self, events: Sequence[Incoming]) -> Future[Answers]:
        """Queue events for the next group."""
        return self._submit(Command(Future(), events))

    def do(self, call: Callable[[Core], T]) -> Future[T]:
        """Queue another change for the next group."""
        return self._submit(Command(Future(), call=call))

    def check_room(self, events: int) -> None:
        """Refuse what cannot be taken now; asked before a batch is read, so that no work is done in vain."""
        if self.failure is not None:
            raise UnknownOutcome(str(self.failure))
        if self._closing:
            raise BusyError("the broker is shutting down", 5)
        # Only events are counted here, so that a flood of them cannot lock out an acknowledgement.
        full = self.waiting_events and self.waiting_events + events > self.settings.waiting_events
        if len(self._waiting) >= self.settings.waiting_commands or (events and full):
            raise BusyError("more is waiting to be written than the broker allows")

    def _submit(self, command: Command) -> Future[Any]:
        with self._wake:
            self.check_room(len(command.events))
            self._waiting.append(command)
            self.waiting_events += len(command.events)
            self._wake.notify()
        return command.future

    # ── the thread ──
    def _work(self) -> None:
        while self.failure is None:
            with self._wake:
                self._wake.wait_for(self._has_work, timeout=SWEEP_EVERY)
                group = self._take()
                if self._closing and not group:
                    return
            try:
                self._group(group)
                self._housekeeping()
            except Exception as problem:
                self._fail(group, problem)

    def _has_work(self) -> bool:
        return bool(self._waiting or self._closing or self.core.replaying)

    def _take(self) -> list[Command]:
        group: list[Command] = []
        events = 0
        while self._waiting and events < self.settings.group_events:
            command = self._waiting.popleft()
            events += len(command.events)
            if command.future.set_running_or_notify_cancel():  # a client that has gone before its turn changes nothing
                group.append(command)
        self.waiting_events -= events
        return group

    def _group(self, group: list[Command]) -> None:
        """Run commands in one transaction; if one of them breaks, each in its own."""
        if not group:
            return
        try:
            answers = self._transaction(lambda: self._run(group))
        except FullError as problem:
            answers = [problem] * len(group)
        except apsw.Error:
            raise
        except Exception as problem:
            log.exception("a change broke")
            if len(group) > 1:
                for command in group:
                    self._group([command])
                return
            answers = [problem]
        for command, answer in zip(group, answers, strict=True):
            if isinstance(answer, Exception):
                command.future.set_exception(answer)
            else:
                command.future.set_result(answer)

    def _transaction(self, work: Callable[[], T]) -> T:
        self.core.begin()
        self.store.begin()
        try:
            result = work()
            began = time.perf_counter()
            self.store.commit()
            seconds = time.perf_counter() - began
        except apsw.FullError as problem:
            self._undo()
            raise FullError("the disk is full: nothing was changed; free some space and try again") from problem
        except apsw.Error:
            raise
        except Exception:
            self._undo()
            raise
        self.watcher.committed(self.core.touched, self._events, self._matched, seconds)
        self._events = self._matched = 0
        return result

    _events = _matched = 0

    def _undo(self) -> None:
        self.store.rollback()
        self.core.rollback()
        self._events = self._matched = 0

    def _run(self, group: list[Command]) -> list[Any]:
        answers: list[Any] = []
        run: list[Command] = []
        for command in [*group, None]:
            if command is not None and command.call is None:
                run.append(command)
                continue
            if run:
                answers += self._publish(run)
                run = []
            if command is not None and command.call is not None:
                try:
                    answers.append(command.call(self.core))
                except TamisError as refusal:
                    answers.append(refusal)
        return answers

    def _publish(self, run: list[Command]) -> list[Answers]:
        outcomes = self.core.publish([event for command in run for event in command.events])
        self._events += len(outcomes)
        self._matched += sum(o.matched for o in outcomes if isinstance(o, Outcome) and not o.duplicate)
        answers, start = [], 0
        for command in run:
            answers.append(outcomes[start : start + len(command.events)])
            start += len(command.events)
        return answers

    def _housekeeping(self) -> None:
        """Replays go on between groups; once a second, what is no longer needed goes. A full disk can wait."""
        try:
            if self.core.replaying:
                self._transaction(self.core.continue_replay)
            if time.monotonic() - self._swept >= SWEEP_EVERY:
                self._swept = time.monotonic()
                self._transaction(self.core.sweep)
            self.store.checkpoint()
        except (FullError, apsw.FullError):
            log.warning("the disk is full: housekeeping waits")
            time.sleep(0.2)

    def _fail(self, group: list[Command], problem: Exception) -> None:
        log.critical("writing failed; the broker stops", exc_info=problem)
        with self._wake:
            self.failure = UnknownOutcome(
                "writing failed, so it is unknown whether the change is there; ask again after a restart"
            )
            lost = [*group, *self._waiting]
            self._waiting.clear()
        for command in lost:
            if not command.future.done():
                command.future.set_exception(UnknownOutcome(str(self.failure)))
        self.watcher.failed(self.failure)
