"""Errors as answers."""

from collections.abc import Iterator
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tamis.broker.messages import Problem
from tamis.errors import (
    BusyError,
    ConflictError,
    FullError,
    MissingExtra,
    StorageError,
    TamisError,
    TicketError,
    UnknownOutcome,
)

STATUS: tuple[tuple[type[TamisError], int, str], ...] = (
    (TicketError, 403, "ticket refused"),
    (ConflictError, 409, "key used before"),
    (FullError, 507, "disk full"),
    (UnknownOutcome, 503, "outcome unknown"),
    (StorageError, 500, "storage damaged"),
    (MissingExtra, 501, "not installed"),
    (TamisError, 422, "not accepted"),
)


def problem(status: int, title: str, detail: str, retry_after: int | None = None) -> Response:
    """A problem as a response. Characters that are no text (lone surrogates) are replaced, so that it can be sent."""
    body = Problem(title=title, status=status, detail=detail.encode("utf-8", "replace").decode())
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    content = msgspec.json.encode(body.model_dump())
    return Response(content, status, headers, media_type="application/problem+json")


def as_problem(error: TamisError) -> Response:
    """The answer to one of our errors."""
    if isinstance(error, BusyError):
        return problem(429 if error.client else 503, "too busy", str(error), error.seconds)
    status, title = next((status, title) for kind, status, title in STATUS if isinstance(error, kind))
    return problem(status, title, str(error))


def install(app: FastAPI) -> None:
    """Answer every error as a problem."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, TamisError)
        return as_problem(error)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem(422, "not accepted", "; ".join(told(error.errors())))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        answer = problem(error.status_code, "refused", str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    app.add_exception_handler(TamisError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def told(errors: Any) -> Iterator[str]:
    """What was wrong with a request, field by field; values are not repeated."""
    for error in errors:
        where = ".".join(str(part) for part in error["loc"] if part != "body")
        yield f"{where}: {error['msg']}" if where else str(error["msg"])


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems an operation may answer with, for the OpenAPI document; some come from any operation."""
    texts = {
        400: "The request cannot be read.",
        401: "An API key is required.",
        403: "The ticket opens no such subscription.",
        405: "The path has no such method.",
        409: "The idempotency key was used for another event.",
        413: "The body is too large.",
        415: "The media type is not known.",
        422: "The request is not acceptable; the detail says why.",
        429: "This client asks too much at once; see Retry-After.",
        503: "The broker is overloaded, stopping, or has failed; see Retry-After.",
        507: "The disk is full.",
    }
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": texts[status], "content": {"application/problem+json": {"schema": schema}}}
        for status in sorted({*statuses, 400, 413, 422, 429, 503})
    }
