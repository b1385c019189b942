"""Who may: tickets open subscriptions, API keys open the broker when it asks for them. Both travel in headers only."""

from typing import Annotated, Any

from fastapi import Depends, HTTPException, Path, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from tamis.broker.names import subscription_number
from tamis.broker.service import Service
from tamis.broker.tickets import fits_any
from tamis.errors import EventError, TicketError
from tamis.lang.events import read_event

bearer = HTTPBearer(auto_error=False, scheme_name="ticket", description="The ticket told when subscribing.")
key_header = APIKeyHeader(name="x-api-key", auto_error=False, scheme_name="key", description="Where keys are required.")


def get_service(request: Request) -> Service:
    """The broker behind the application."""
    service: Service = request.app.state.service
    return service


def get_number(id: Annotated[str, Path(max_length=40, examples=["s1"])]) -> int:
    """The subscription in the path."""
    return subscription_number(id)


def get_ticket(credentials: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]) -> str:
    """The ticket; none at all is refused like a wrong one."""
    if credentials is None:
        raise TicketError
    return credentials.credentials


def check_key(request: Request, key: Annotated[str | None, Security(key_header)]) -> None:
    """Ask for an API key where the broker requires one."""
    known = get_service(request).settings.api_keys
    if known and not fits_any(key or "", known):
        raise HTTPException(401, "this broker asks for an API key: send it as X-Api-Key")


Broker = Annotated[Service, Depends(get_service)]
Number = Annotated[int, Depends(get_number)]
Ticket = Annotated[str, Depends(get_ticket)]
KEY = Depends(check_key)


class StrictRequest(Request):
    """JSON bodies are read as strictly as events."""

    async def json(self) -> Any:
        """The body's value."""
        try:
            return read_event(await self.body())
        except EventError as problem:
            raise HTTPException(400, str(problem)) from None


class StrictRoute(APIRoute):
    """A route that reads JSON strictly."""

    def get_route_handler(self) -> Any:
        """The usual handler, given a strict request."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Any:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict
