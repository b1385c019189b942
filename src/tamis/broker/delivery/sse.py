"""Server-sent events. `id` is the cursor, so a browser's reconnect with Last-Event-ID resumes where it was.

A client that does not read is cut off by the doorman; it loses nothing and may come back.
"""

import asyncio
from collections.abc import AsyncGenerator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tamis.broker.delivery.envelope import encode
from tamis.broker.rows import Delivery


class EventStream(Response):
    """A response that goes on until the source or the client ends it."""

    media_type = "text/event-stream"

    def __init__(self, number: int, source: AsyncGenerator[list[Delivery]]) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        self.number, self.source = number, source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send pages as they come; stop when the client has gone."""
        headers = [pair for pair in self.raw_headers if pair[0] != b"content-length"]
        first = await anext(self.source, None)  # a refusal must come before the first byte
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        sender = asyncio.ensure_future(self._send(first, send))
        listener = asyncio.ensure_future(gone(receive))
        try:
            done, _ = await asyncio.wait({sender, listener}, return_when=asyncio.FIRST_COMPLETED)
            if sender in done:
                sender.result()
        finally:
            for task in (sender, listener):
                task.cancel()
            await asyncio.gather(sender, listener, return_exceptions=True)
            await self.source.aclose()

    async def _send(self, page: list[Delivery] | None, send: Send) -> None:
        while page is not None:
            chunk = b"".join(frame(self.number, delivery) for delivery in page) or b": still here\n\n"
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            page = await anext(self.source, None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def frame(number: int, delivery: Delivery) -> bytes:
    """One server-sent event."""
    return b"id: %d\nevent: notification\ndata: %b\n\n" % (delivery.n, encode(number, delivery))


async def gone(receive: Receive) -> None:
    """Returns when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
