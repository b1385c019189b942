"""What every request passes before anything else: how many at once, how large, how slow; counted and logged on the way out.

The whole body is read here, within a size and a time, and what is answered must be taken within a time, so nobody behind the
door waits for a client. Paths are logged without their query, and headers never.
"""

import asyncio
import logging
import time
from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.broker.api.problems import problem
from tamis.broker.delivery.cut import cut
from tamis.broker.metrics import Metrics
from tamis.broker.settings import Settings

log = logging.getLogger("tamis.access")
ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
STREAMS = ("/stream",)


class Doorman:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self.inside: Counter[str] = Counter()
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, hand over, count."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, late = time.perf_counter(), 499, False
        stream = scope["path"].endswith(STREAMS)

        async def noting(message: Message) -> None:
            nonlocal status, late
            if message["type"] == "http.response.start":
                status = message["status"]
            try:
                async with asyncio.timeout(self.settings.write_deadline):
                    await send(message)
            except TimeoutError:
                late = True
                await cut(scope)
                raise

        try:
            if scope["path"] in ALWAYS or stream:
                await self.app(scope, receive, noting)
            else:
                await self._serve(scope, receive, noting)
        except TimeoutError:
            if not late:
                raise
            log.info("cut off a client that does not read", extra={"path": scope["path"]})
        finally:
            seconds = time.perf_counter() - began
            self.metrics.requests.labels(str(status)).inc()
            if not stream:
                self.metrics.latency.observe(seconds)
            fields = {"method": scope["method"], "path": scope["path"], "status": status, "seconds": round(seconds, 6)}
            log.info("request", extra=fields)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = (scope.get("client") or ("unknown", 0))[0]
        settings = self.settings
        if self.inside.total() >= settings.requests:
            await problem(503, "too busy", f"requests = {settings.requests} are being answered", 1)(
                scope, receive, send
            )
            return
        if self.inside[client] >= settings.requests_per_client:
            text = f"requests_per_client = {settings.requests_per_client} are being answered"
            await problem(429, "too busy", text, 1)(scope, receive, send)
            return
        self.inside[client] += 1
        body = bytearray()
        try:
            refusal = await self._read(scope, receive, body)
            if refusal is None:
                await self.app(scope, replay(bytes(body), receive), send)
            elif refusal:
                status, text = refusal
                answer = problem(status, "refused", text, 1 if status == 503 else None)
                answer.headers["connection"] = "close"
                await answer(scope, receive, send)
        finally:
            self.held -= len(body)
            self.inside[client] -= 1
            if not self.inside[client]:
                del self.inside[client]

    async def _read(self, scope: Scope, receive: Receive, body: bytearray) -> tuple[int, str] | tuple[()] | None:
        """Fill `body`; a status and a text if it is refused, an empty tuple if the client has gone."""
        settings = self.settings
        batch = scope["path"].endswith("/batch")
        allowed = settings.batch_bytes if batch else settings.limits.event_bytes + 4096
        try:
            async with asyncio.timeout(settings.write_deadline):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return ()
                    chunk = message.get("body", b"")
                    body += chunk
                    self.held += len(chunk)
                    if len(body) > allowed:
                        return 413, f"the body is larger than the {allowed:,} bytes allowed here"
                    if self.held > settings.body_bytes:
                        return 503, "too much is being received at once"
                    if not message.get("more_body", False):
                        return None
        except TimeoutError:
            return 408, f"the body did not arrive within {settings.write_deadline} s"


def replay(body: bytes, receive: Receive) -> Receive:
    """The body in one message, then whatever comes."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
