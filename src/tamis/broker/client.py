"""Typed clients of a broker: `Client` blocks, `AsyncClient` awaits; their methods and answers are the same.

    >>> with Client("http://127.0.0.1:8080") as broker:
    ...     mine = broker.subscribe("item = 'camera' and price < 300")
    ...     broker.publish({"item": "camera", "price": 199})
    ...     for notification in broker.notifications(mine).notifications:
    ...         print(notification.event)
    ...         broker.ack(mine, notification.cursor)

With `patience`, a broker that is too busy is asked again for so many seconds. A publish whose answer was lost may have
happened; give it a `key`, and sending it again publishes it once.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel

from tamis.broker import calls, messages
from tamis.broker.calls import Call, Frames, Handle, Opens
from tamis.broker.settings import DAY
from tamis.errors import BrokerError, BusyError

__all__ = ["AsyncClient", "Client", "Handle"]
M = TypeVar("M", bound=BaseModel)
PAUSE = 1.0


class Client:
    """A blocking client; use it as a context manager or close it."""

    def __init__(self, url: str, *, key: str | None = None, patience: float = 0, timeout: float = 30) -> None:
        self.patience, self.timeout = patience, timeout
        self._http = httpx.Client(base_url=url, headers=key_header(key), timeout=timeout, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def _send(self, call: Call[M]) -> M | None:
        until = time.monotonic() + self.patience
        while True:
            try:
                return call.read(self._http.request(**call.request(), timeout=self.timeout + call.wait))
            except httpx.HTTPError as problem:
                raise unreachable(problem) from problem
            except BusyError as busy:
                if time.monotonic() + busy.seconds > until:
                    raise
                time.sleep(busy.seconds)

    def _ask(self, call: Call[M]) -> M:
        answer = self._send(call)
        assert answer is not None
        return answer

    def subscribe(
        self,
        filter: str,
        *,
        owner: str | None = None,
        valid_for: float = DAY,
        replay: bool = True,
        webhook: str | None = None,
    ) -> messages.Subscribed:
        """Leave a condition; keep the answer's `id` and `ticket`."""
        return self._ask(calls.subscribe(filter, owner, valid_for, replay, webhook))

    def status(self, mine: Opens) -> messages.Status:
        """A subscription and where its queue stands."""
        return self._ask(calls.status(mine))

    def renew(self, mine: Opens, valid_for: float = DAY) -> messages.Renewed:
        """Stand until `valid_for` seconds from now."""
        return self._ask(calls.renew(mine, valid_for))

    def replace(self, mine: Opens, filter: str, *, replay: bool = True) -> None:
        """Another condition for the same queue."""
        self._send(calls.replace(mine, filter, replay))

    def unsubscribe(self, mine: Opens) -> None:
        """Forget the subscription and its queue."""
        self._send(calls.unsubscribe(mine))

    def publish(self, event: Mapping[str, Any], *, valid_for: float = 0, key: str | None = None) -> messages.Published:
        """Publish an event; when this returns it is durable."""
        return self._ask(calls.publish(event, valid_for, key))

    def publish_many(
        self, events: Iterable[Mapping[str, Any]], *, valid_for: float = 0, key: str | None = None
    ) -> messages.BatchPublished:
        """Publish many events in one request."""
        return self._ask(calls.publish_many(events, valid_for, key))

    def notifications(
        self, mine: Opens, *, after: int | None = None, limit: int = 100, wait: float = 0
    ) -> messages.Page:
        """The next notifications after a cursor, or after the last acknowledged one."""
        return self._ask(calls.notifications(mine, after, limit, wait))

    def ack(self, mine: Opens, cursor: int) -> messages.Acknowledged:
        """Everything up to `cursor` has been dealt with."""
        return self._ask(calls.ack(mine, cursor))

    def dead_letters(self, mine: Opens, *, after: int | None = None, limit: int = 100) -> messages.DeadLetters:
        """Notifications that were given up."""
        return self._ask(calls.dead_letters(mine, after, limit))

    def explain(
        self, mine: Opens, event: Mapping[str, Any] | None = None, *, event_id: str | None = None
    ) -> messages.Explained:
        """Why the subscription does or does not match an event."""
        return self._ask(calls.explain(mine, event, event_id))

    def follow(self, mine: Opens, *, after: int | None = None) -> Iterator[messages.Notification]:
        """Notifications as they come, over lost connections too; acknowledge them, or they come again."""
        position = after
        while True:
            try:
                for notification in self._stream(mine, position):
                    position = notification.cursor
                    yield notification
            except (httpx.HTTPError, BusyError):
                pass
            time.sleep(PAUSE)

    def _stream(self, mine: Opens, after: int | None) -> Iterator[messages.Notification]:
        frames, call = Frames(), stream(mine, after)
        with self._http.stream(**call.request(), timeout=self.timeout) as response:
            if response.status_code != 200:
                response.read()
                call.read(response)
            for line in response.iter_lines():
                notification = frames.feed(line)
                if notification is not None:
                    yield notification


class AsyncClient:
    """The same for asyncio."""

    def __init__(self, url: str, *, key: str | None = None, patience: float = 0, timeout: float = 30) -> None:
        self.patience, self.timeout = patience, timeout
        self._http = httpx.AsyncClient(base_url=url, headers=key_header(key), timeout=timeout, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def _send(self, call: Call[M]) -> M | None:
        until = time.monotonic() + self.patience
        while True:
            try:
                return call.read(await self._http.request(**call.request(), timeout=self.timeout + call.wait))
            except httpx.HTTPError as problem:
                raise unreachable(problem) from problem
            except BusyError as busy:
                if time.monotonic() + busy.seconds > until:
                    raise
                await asyncio.sleep(busy.seconds)

    async def _ask(self, call: Call[M]) -> M:
        answer = await self._send(call)
        assert answer is not None
        return answer

    async def subscribe(
        self,
        filter: str,
        *,
        owner: str | None = None,
        valid_for: float = DAY,
        replay: bool = True,
        webhook: str | None = None,
    ) -> messages.Subscribed:
        """Leave a condition; keep the answer's `id` and `ticket`."""
        return await self._ask(calls.subscribe(filter, owner, valid_for, replay, webhook))

    async def status(self, mine: Opens) -> messages.Status:
        """A subscription and where its queue stands."""
        return await self._ask(calls.status(mine))

    async def renew(self, mine: Opens, valid_for: float = DAY) -> messages.Renewed:
        """Stand until `valid_for` seconds from now."""
        return await self._ask(calls.renew(mine, valid_for))

    async def replace(self, mine: Opens, filter: str, *, replay: bool = True) -> None:
        """Another condition for the same queue."""
        await self._send(calls.replace(mine, filter, replay))

    async def unsubscribe(self, mine: Opens) -> None:
        """Forget the subscription and its queue."""
        await self._send(calls.unsubscribe(mine))

    async def publish(
        self, event: Mapping[str, Any], *, valid_for: float = 0, key: str | None = None
    ) -> messages.Published:
        """Publish an event; when this returns it is durable."""
        return await self._ask(calls.publish(event, valid_for, key))

    async def publish_many(
        self, events: Iterable[Mapping[str, Any]], *, valid_for: float = 0, key: str | None = None
    ) -> messages.BatchPublished:
        """Publish many events in one request."""
        return await self._ask(calls.publish_many(events, valid_for, key))

    async def notifications(
        self, mine: Opens, *, after: int | None = None, limit: int = 100, wait: float = 0
    ) -> messages.Page:
        """The next notifications after a cursor, or after the last acknowledged one."""
        return await self._ask(calls.notifications(mine, after, limit, wait))

    async def ack(self, mine: Opens, cursor: int) -> messages.Acknowledged:
        """Everything up to `cursor` has been dealt with."""
        return await self._ask(calls.ack(mine, cursor))

    async def dead_letters(self, mine: Opens, *, after: int | None = None, limit: int = 100) -> messages.DeadLetters:
        """Notifications that were given up."""
        return await self._ask(calls.dead_letters(mine, after, limit))

    async def explain(
        self, mine: Opens, event: Mapping[str, Any] | None = None, *, event_id: str | None = None
    ) -> messages.Explained:
        """Why the subscription does or does not match an event."""
        return await self._ask(calls.explain(mine, event, event_id))

    async def follow(self, mine: Opens, *, after: int | None = None) -> AsyncIterator[messages.Notification]:
        """Notifications as they come, over lost connections too; acknowledge them, or they come again."""
        position = after
        while True:
            try:
                async for notification in self._stream(mine, position):
                    position = notification.cursor
                    yield notification
            except (httpx.HTTPError, BusyError):
                pass
            await asyncio.sleep(PAUSE)

    async def _stream(self, mine: Opens, after: int | None) -> AsyncIterator[messages.Notification]:
        frames, call = Frames(), stream(mine, after)
        async with self._http.stream(**call.request(), timeout=self.timeout) as response:
            if response.status_code != 200:
                await response.aread()
                call.read(response)
            async for line in response.aiter_lines():
                notification = frames.feed(line)
                if notification is not None:
                    yield notification


def stream(mine: Opens, after: int | None) -> Call[messages.Notification]:
    """The call that opens a stream."""
    return Call("GET", calls.path(mine, "stream"), None, mine, query={"after": after})


def key_header(key: str | None) -> dict[str, str]:
    """The header of an API key."""
    return {} if key is None else {"x-api-key": key}


def unreachable(problem: httpx.HTTPError) -> BrokerError:
    """No answer came; whether the request had an effect is not known."""
    try:
        place = f" at {problem.request.url.copy_with(path='/', query=None)}"
    except RuntimeError:  # httpx does not always know which request it was
        place = ""
    return BrokerError(f"the broker{place} gave no answer: {type(problem).__name__} {problem}")
