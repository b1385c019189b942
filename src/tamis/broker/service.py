"""A running broker for asyncio: the writer's thread, threads that read, and who waits for which queue."""

import asyncio
import fcntl
import gc
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tamis.broker import index
from tamis.broker.core import Core, Incoming, Standing, check_owner, check_ticket
from tamis.broker.metrics import Metrics
from tamis.broker.rows import Delivery, Subscription
from tamis.broker.settings import Settings
from tamis.broker.store import Store
from tamis.broker.writer import Answers, Writer
from tamis.engines.registry import DEFAULT
from tamis.errors import BusyError, StorageError, UnknownOutcome
from tamis.matcher import Explanation
from tamis.matcher.warm import is_warm, warm

T = TypeVar("T")
log = logging.getLogger("tamis.broker")
READERS = 4


class Service:
    """Everything a broker keeps open. Made in one thread, `start`ed on an event loop, `stop`ped there."""

    def __init__(
        self,
        directory: str | Path,
        settings: Settings | None = None,
        engine: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings or Settings()
        self.directory = Path(directory)
        log.info("opening", extra={"directory": str(self.directory)})
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lock = lock(self.directory / "lock")
        self.store = Store(self.directory / "broker.db")
        self.index_path = self.directory / "index"
        if engine in (None, DEFAULT) and not is_warm():
            log.info("compiling what matching needs, once on this machine; it takes a minute or two")
            warm(log.debug)  # so that the first publisher does not wait for it
        with uncollected():
            matcher = index.restore(self.index_path, self.store.conditions(), self.settings, engine)
            matcher.match({})
            self.core = Core(self.store, matcher, self.settings, clock)
        self.metrics = Metrics()
        self.writer = Writer(self.core, self.store, self.settings, self)
        self.stopping = asyncio.Event()
        self.on_failure: Callable[[], None] = lambda: None
        self.on_touched: Callable[[set[int]], None] = lambda touched: None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._waiters: dict[int, set[asyncio.Event]] = {}
        self._readers = ThreadPoolExecutor(READERS, "reader")
        self._local = threading.local()
        self._opened: list[Store] = []
        self._saved_changes = self._failures = 0
        self._saving: Future[None] | None = None
        self._gauges()

    def start(self) -> None:
        """Begin to work on the running event loop."""
        self.loop = asyncio.get_running_loop()
        self.writer.start()

    async def stop(self) -> None:
        """End streams, finish what waits, save the index."""
        self.end_streams()
        await asyncio.to_thread(self._close)

    def end_streams(self) -> None:
        """Streams and long polls end now."""
        self.stopping.set()
        for waiters in self._waiters.values():
            for event in waiters:
                event.set()

    def _close(self) -> None:
        self.writer.close()
        self._readers.shutdown()
        if self.core.changes and self.writer.failure is None:
            index.save(self.core.matcher, self.index_path)
        self.core.matcher.close()
        for store in [*self._opened, self.store]:
            store.close()
        os.close(self._lock)
        log.info("stopped", extra={"directory": str(self.directory)})

    @property
    def ready(self) -> bool:
        """Whether changes are accepted."""
        return self.loop is not None and self.writer.failure is None and not self.stopping.is_set()

    # ── changes ──
    async def do(self, call: Callable[[Core], T]) -> T:
        """Run a change in the writer's next group; returns when it is durable."""
        return await asyncio.wrap_future(self.writer.do(call))

    async def publish(self, events: Sequence[Incoming]) -> Answers:
        """Publish events; returns when they and their notifications are durable."""
        return await asyncio.wrap_future(self.writer.publish(events))

    # ── reading ──
    async def read(self, call: Callable[[Store], T]) -> T:
        """Run a query on a connection of its own, in another thread; it sees what is durable."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, lambda: call(self._connection()))

    def _connection(self) -> Store:
        if not hasattr(self._local, "store"):
            self._local.store = self.store.reader()
            self._opened.append(self._local.store)
        store: Store = self._local.store
        return store

    async def authorise(self, number: int, ticket: str) -> Subscription:
        """The subscription a ticket opens."""
        now = self.core.peek()
        return await self.read(lambda store: check_ticket(store.subscription(number), ticket, now))

    async def page(self, number: int, after: int, limit: int) -> list[Delivery]:
        """The next notifications of a queue."""
        return await self.read(lambda store: store.page(number, after, limit))

    async def dead_letters(self, number: int, ticket: str, after: int, limit: int) -> list[Delivery]:
        """Dead letters of a subscription, which its ticket still opens when it has expired."""

        def look(store: Store) -> list[Delivery]:
            check_owner(store.subscription(number), ticket)
            return store.dead_letters(number, after, limit)

        return await self.read(look)

    async def explain(self, number: int, event: dict[str, Any]) -> Explanation:
        """Why a subscription does or does not match an event."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.core.explain, number, event)

    def standing(self, number: int) -> Standing | None:
        """The live state of a subscription that has not expired."""
        found = self.core.standing.get(number)
        return found if found is not None and found.expires > self.core.peek() else None

    # ── waiting ──
    @contextmanager
    def listening(self, number: int) -> Iterator[asyncio.Event]:
        """An event that is set whenever the queue changes."""
        event = asyncio.Event()
        waiters = self._waiters.setdefault(number, set())
        waiters.add(event)
        try:
            yield event
        finally:
            waiters.discard(event)
            if not waiters and self._waiters.get(number) is waiters:
                del self._waiters[number]

    @contextmanager
    def streaming(self, number: int, way: str) -> Iterator[asyncio.Event]:
        """The same for a stream, of which there may be only so many."""
        open_streams = sum(len(waiters) for waiters in self._waiters.values())
        if len(self._waiters.get(number, ())) >= self.settings.streams_per_subscription:
            raise BusyError(
                f"streams_per_subscription = {self.settings.streams_per_subscription} are open", 10, client=True
            )
        if open_streams >= self.settings.streams:
            raise BusyError(f"streams = {self.settings.streams} are open", 10)
        gauge = self.metrics.streams.labels(way)
        with self.listening(number) as event, gauge.track_inprogress():
            yield event

    # ── told by the writer's thread ──
    def committed(self, touched: set[int], events: int, matched: int, seconds: float) -> None:
        """A group is durable: count it, and wake who waits for it."""
        if touched or events:
            self.metrics.commits.observe(seconds)
        if events:
            self.metrics.events.inc(events)
            self.metrics.matches.inc(matched)
            self.metrics.group.observe(events)
        failures = self.core.matcher.operator_failures
        self.metrics.operators.inc(failures - self._failures)
        self._failures = failures
        if touched and self.loop is not None:
            self.loop.call_soon_threadsafe(self._wake, touched)
        saving = self._saving is not None and not self._saving.done()
        if self.core.changes - self._saved_changes >= self.settings.index_changes and not saving:
            self._saved_changes = self.core.changes
            self._saving = self._readers.submit(index.save, self.core.matcher, self.index_path)

    def failed(self, problem: UnknownOutcome) -> None:
        """The writer has stopped: so does the broker."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.on_failure)

    def _wake(self, touched: set[int]) -> None:
        for number in touched & self._waiters.keys():
            for event in self._waiters[number]:
                event.set()
        self.on_touched(touched)

    def _gauges(self) -> None:
        core, watch = self.core, self.metrics.watch
        watch("tamis_subscriptions", "Standing subscriptions.", lambda: len(core.standing))
        watch("tamis_waiting_commands", "Changes that wait for the next group.", lambda: self.writer.waiting)
        watch("tamis_waiting_events", "Events that wait for the next group.", lambda: self.writer.waiting_events)
        watch("tamis_replays", "Subscriptions still being replayed to.", lambda: len(core.replaying))
        watch("tamis_dead_letters", "Notifications given up since the start.", lambda: core.dead)
        watch("tamis_queue_depth", "Notifications not acknowledged.", self._depth)
        watch("tamis_queue_depth_max", "The longest queue.", self._deepest)
        watch("tamis_candidates_per_event", "Candidates the engine checked per event.", self._candidates)

    def _depth(self) -> float:
        return sum(s.last - s.cursor for s in list(self.core.standing.values()))

    def _deepest(self) -> float:
        return max((s.last - s.cursor for s in list(self.core.standing.values())), default=0)

    def _candidates(self) -> float:
        stats = self.core.matcher.stats()
        return stats.candidates / max(1, stats.events)


@contextmanager
def uncollected() -> Iterator[None]:
    """Millions of objects are made that stay: looking for garbage among them, over and over, takes longer than making them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def lock(path: Path) -> int:
    """Hold a directory for this process alone."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise StorageError(f"{path.parent} is in use by another broker") from None
    return handle
