"""WebSocket: any number of subscriptions over one connection.

The client sends `{"follow": ID, "ticket": T}` (and `"after": N` to resume), `{"ack": ID, "cursor": N}` or
`{"leave": ID}`; the server sends `{"following": ID}`, `{"notification": {…}}`, `{"acknowledged": ID, "cursor": N}`,
`{"ended": ID}` and `{"error": TEXT}`.
"""

import asyncio
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from tamis.broker.delivery.cut import cut
from tamis.broker.delivery.envelope import envelope
from tamis.broker.delivery.follow import follow
from tamis.broker.names import subscription_number
from tamis.broker.service import Service
from tamis.errors import DataError, EventError, TamisError
from tamis.lang.events import read_event

FOLLOWED = 256


class Conversation:
    """One open WebSocket."""

    def __init__(self, service: Service, socket: WebSocket) -> None:
        self.service, self.socket = service, socket
        self.followed: dict[int, asyncio.Task[None]] = {}
        self.tickets: dict[int, str] = {}
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Talk until one side ends it."""
        await self.socket.accept()
        stopping = asyncio.ensure_future(self.service.stopping.wait())
        listening = asyncio.ensure_future(self._listen())
        try:
            await asyncio.wait({stopping, listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            tasks = [stopping, listening, *self.followed.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self.service.stopping.is_set():
            await self.socket.close(1001)

    async def _listen(self) -> None:
        while True:
            try:
                text = await self.socket.receive_text()
            except (WebSocketDisconnect, KeyError):  # a binary message has no text
                return
            try:
                await self._answer(read_event(text))
            except TamisError as refusal:
                await self._send({"error": str(refusal)})

    async def _answer(self, message: dict[str, Any]) -> None:
        kind = next((name for name in ("follow", "ack", "leave") if name in message), None)
        if kind is None:
            raise DataError("a message has one of the keys follow, ack, leave")
        number = subscription_number(text_field(message, kind))
        if kind == "follow":
            await self._follow(number, text_field(message, "ticket"), number_field(message, "after", 0))
        elif kind == "ack":
            ticket, cursor = self.tickets.get(number, ""), number_field(message, "cursor", -1)
            stands = await self.service.do(lambda core: core.acknowledge(number, ticket, cursor))
            await self._send({"acknowledged": message["ack"], "cursor": stands})
        elif number in self.followed:
            self.followed.pop(number).cancel()

    async def _follow(self, number: int, ticket: str, after: int) -> None:
        await self.service.authorise(number, ticket)
        if number in self.followed and not self.followed[number].done():
            raise DataError("this subscription is followed already")
        if len(self.followed) >= FOLLOWED:
            raise DataError(f"one connection follows at most {FOLLOWED} subscriptions")
        self.tickets[number] = ticket
        await self._send({"following": f"s{number}"})
        self.followed[number] = asyncio.create_task(self._forward(number, after))

    async def _forward(self, number: int, after: int) -> None:
        try:
            async with aclosing(follow(self.service, number, after, "websocket")) as pages:
                async for page in pages:
                    for delivery in page:
                        await self._send({"notification": envelope(number, delivery)})
            await self._send({"ended": f"s{number}"})
        except TamisError as refusal:
            await self._send({"error": str(refusal)})
        except (TimeoutError, RuntimeError, WebSocketDisconnect):
            return  # it has gone, or was cut off

    async def _send(self, message: dict[str, Any]) -> None:
        async with self._sending:
            text = msgspec.json.encode(message).decode()
            try:
                await asyncio.wait_for(self.socket.send_text(text), self.service.settings.write_deadline)
            except TimeoutError:
                await cut(self.socket.scope)
                raise


def text_field(message: dict[str, Any], name: str) -> str:
    """A string of a message."""
    value = message.get(name)
    if not isinstance(value, str):
        raise EventError(f"{name} is a string")
    return value


def number_field(message: dict[str, Any], name: str, default: int) -> int:
    """A whole number of a message."""
    value = message.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value < 2**63:
        raise EventError(f"{name} is a whole number")
    return value
