"""Signed webhooks (Standard Webhooks): one call per notification, in order, again with growing pauses until it is taken.

Only a 2xx answer counts; redirects are answers like any other and are not followed. After the last attempt the notification
becomes a dead letter and the next one gets its turn. Attempts are counted on the disk, so a restart neither hurries nor
forgets: a call that was on its way when the broker was killed may be made once more.
"""

import asyncio
import logging
import random
import secrets
import ssl
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import httpcore
from standardwebhooks import Webhook

from tamis.broker.core import Core
from tamis.broker.delivery.envelope import encode
from tamis.broker.delivery.targets import JudgedBackend
from tamis.broker.rows import Delivery, Subscription
from tamis.broker.service import Service
from tamis.errors import BusyError, TamisError

log = logging.getLogger("tamis.broker")


def new_secret() -> str:
    """A fresh key to sign with."""
    return "whsec_" + b64encode(secrets.token_bytes(32)).decode()


class Webhooks:
    """A task for every webhook subscription that has something to send."""

    def __init__(self, service: Service) -> None:
        self.service, self.settings = service, service.settings
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(self.settings.webhook_at_once)
        backend = JudgedBackend(self.settings.loopback_webhooks)
        context = ssl.create_default_context()
        self._pool = httpcore.AsyncConnectionPool(ssl_context=context, network_backend=backend, max_connections=256)

    def start(self) -> None:
        """Take up what was left undone, and be told of what comes."""
        self.service.on_touched = self.touched
        self.touched(set(self.service.core.standing))

    async def stop(self) -> None:
        """Let go of everything; what was not acknowledged stays in its queue."""
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        await self._pool.aclose()

    def touched(self, numbers: set[int]) -> None:
        """Queues have changed."""
        for number in numbers:
            standing = self.service.core.standing.get(number)
            if (
                standing is not None
                and standing.webhook
                and standing.last > standing.cursor
                and number not in self.tasks
            ):
                task = self.tasks[number] = asyncio.create_task(self._drain(number))
                task.add_done_callback(partial(self._done, number))

    def _done(self, number: int, task: asyncio.Task[None]) -> None:
        del self.tasks[number]
        if task.cancelled():
            return
        if task.exception() is None:
            self.touched({number})  # something may have come while the task was ending
        elif self.service.ready:
            log.error("webhook delivery stopped", exc_info=task.exception(), extra={"subscription": number})

    async def _drain(self, number: int) -> None:
        while (standing := self.service.standing(number)) is not None and standing.last > standing.cursor:
            row = await self.service.read(lambda store: store.subscription(number))
            page = await self.service.page(number, standing.cursor, 1)
            if row is None or not page:
                return
            before = await self.service.read(lambda store: store.attempt(number))
            made = 0
            if before is not None and before.n == page[0].n:
                made = before.made
                wait = (before.due - self.service.core.peek()) / 1000
                await asyncio.sleep(max(0.0, min(wait, self.settings.webhook_backoff_max)))
            await self._deliver(row, page[0], made)

    async def _deliver(self, row: Subscription, delivery: Delivery, made: int) -> None:
        """Call until it is taken or given up; `made` calls were made before the last start."""
        problem = "no attempt is left"
        for attempt in range(made, self.settings.attempts):
            if self.service.standing(row.number) is None:
                return
            async with self._slots:
                problem = await self._call(row, delivery)
            self.service.metrics.webhooks.labels("refused" if problem else "taken").inc()
            if not problem:
                self.service.metrics.sent.labels("webhook").inc()
                await self._record(partial(Core.delivered, number=row.number, n=delivery.n))
                return
            if attempt + 1 < self.settings.attempts:
                pause = min(self.settings.webhook_backoff * 2**attempt, self.settings.webhook_backoff_max)
                pause *= random.uniform(0.8, 1.2)
                told = partial(Core.refused, number=row.number, n=delivery.n, made=attempt + 1, pause=pause)
                await self._record(told)
                await asyncio.sleep(pause)
        reason = f"the webhook did not take it: {problem}"
        await self._record(partial(Core.give_up, number=row.number, n=delivery.n, reason=reason))

    async def _record(self, change: Callable[[Core], None]) -> None:
        """Write down what became of a call; an overloaded writer is asked again, for the call cannot be unmade."""
        while True:
            try:
                return await self.service.do(change)
            except BusyError as busy:
                await asyncio.sleep(busy.seconds)

    async def _call(self, row: Subscription, delivery: Delivery) -> str:
        """One attempt; returns what went wrong, or nothing."""
        assert row.webhook is not None
        assert row.secret is not None
        body, name, now = encode(row.number, delivery), f"s{row.number}.{delivery.n}", datetime.now(UTC)
        headers: dict[bytes | str, bytes | str] = {
            "content-type": "application/json",
            "user-agent": "tamis",
            "webhook-id": name,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(row.secret).sign(name, now, body.decode()),
        }
        seconds = self.settings.webhook_timeout
        limits = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
        try:
            async with (
                asyncio.timeout(seconds),
                self._pool.stream(
                    "POST", row.webhook, headers=headers, content=body, extensions={"timeout": limits}
                ) as response,
            ):
                status = response.status
        except TamisError as refusal:
            return str(refusal)
        except (
            OSError,
            TimeoutError,
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.TimeoutException,
        ) as problem:
            return f"{type(problem).__name__}: {problem}".rstrip(": ")
        return "" if 200 <= status < 300 else f"it answered {status}"
