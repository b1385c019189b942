"""The application: routes, problems, the doorman, and what is started and stopped with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, WebSocket
from starlette.responses import Response

from tamis.broker.api import events, subscriptions
from tamis.broker.api.access import Broker
from tamis.broker.api.doorman import Doorman
from tamis.broker.api.problems import install, problem
from tamis.broker.delivery.socket import Conversation
from tamis.broker.delivery.webhook import Webhooks
from tamis.broker.messages import Health, Problem
from tamis.broker.service import Service


def create_app(service: Service) -> FastAPI:
    """A broker as an ASGI application; it starts and stops the service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        webhooks = Webhooks(service)
        webhooks.start()
        try:
            yield
        finally:
            await webhooks.stop()
            await service.stop()

    app = FastAPI(
        title="tamis broker",
        version="1",
        summary="Leave standing conditions, publish events, be notified.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.add_middleware(Doorman, settings=service.settings, metrics=service.metrics)
    install(app)
    app.include_router(subscriptions.router)
    app.include_router(events.router)

    @app.websocket("/v1/stream")
    async def stream(socket: WebSocket) -> None:
        await Conversation(service, socket).run()

    @app.get("/healthz", tags=["system"])
    async def healthz() -> Health:
        """The process answers."""
        return Health(status="alive")

    @app.get("/readyz", tags=["system"], responses={503: {"model": Problem, "description": "Not now."}})
    async def readyz(broker: Broker) -> Health:
        """Changes are accepted."""
        if not broker.ready:
            return problem(503, "not ready", "the broker is stopping, or its disk has failed", 5)  # type: ignore[return-value]
        return Health(status="ready")

    @app.get("/metrics", tags=["system"], response_class=Response)
    async def metrics(broker: Broker) -> Response:
        """Counters for Prometheus."""
        text = await asyncio.to_thread(broker.metrics.text)  # the depth of a million queues takes a while to add up
        return Response(text, media_type="text/plain; version=0.0.4")

    return app
