"""The broker as a process: bind, serve, and stop in order when told to or when the disk fails."""

import asyncio
import gc
import logging
import signal
import socket
from types import FrameType
from typing import cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tamis.broker.api import create_app
from tamis.broker.service import Service
from tamis.errors import UnknownOutcome

log = logging.getLogger("tamis.broker")
GRACE = 10


class Connection(HttpToolsProtocol):
    """A connection whose other side has `patience` seconds to say what it wants, and that `scope["state"]["cut"]` ends at
    once. Closing it would first wait until the other side has taken what is still to be written, and one that reads a byte
    now and then takes days."""

    patience: float
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has connected."""
        super().connection_made(cast(asyncio.Transport, transport))
        self.app_state = {**self.app_state, "cut": self.transport.abort}
        self._expect()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._expect()

    def on_headers_complete(self) -> None:
        """It is clear what is wanted; from here on the doorman looks at the clock."""
        self._relax()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._relax()
        super().connection_lost(exc)

    def _expect(self) -> None:
        self._relax()
        self._timer = self.loop.call_later(self.patience, self.transport.abort)

    def _relax(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class Server(uvicorn.Server):
    """Uvicorn, with streams told to end before it waits for their connections."""

    service: Service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal asks to stop."""
        log.info("stopping", extra={"signal": signal.Signals(sig).name})
        self.service.end_streams()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Bind, and say where."""
        await super().startup(sockets)
        for server in self.servers:
            for bound in server.sockets:
                host, port = bound.getsockname()[:2]
                address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
                log.info("ready; Ctrl-C stops", extra={"address": address})

    def stop(self) -> None:
        """End streams and long polls, then the server; they are resumed elsewhere or later."""
        self.service.end_streams()
        self.should_exit = True


def make_server(service: Service, host: str = "127.0.0.1", port: int = 8080) -> Server:
    """A server that is ready to run, also in a thread."""
    config = uvicorn.Config(
        create_app(service),
        host,
        port,
        log_config=None,
        http=type("Connection", (Connection,), {"patience": service.settings.write_deadline}),
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=64 << 10,
        ws="websockets-sansio",
        ws_max_size=64 << 10,
    )
    server = Server(config)
    server.service = service
    service.on_failure = server.stop  # answers from now on would be lies
    return server


def serve(service: Service, host: str = "127.0.0.1", port: int = 8080) -> None:
    """Serve until stopped; raises when it was the disk that stopped it."""
    gc.collect()
    gc.freeze()  # what was loaded stays: looking through a million subscriptions again and again costs a third of the time
    make_server(service, host, port).run()
    if service.writer.failure is not None:
        raise UnknownOutcome(str(service.writer.failure))
