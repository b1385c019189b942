"""Publishing, one by one and in bulk. The body of a publish is the event itself."""

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, HTTPException, Query, Request
from starlette.responses import Response

from tamis.broker.api.access import KEY, Broker
from tamis.broker.api.problems import documented
from tamis.broker.core import Outcome
from tamis.broker.incoming import key_digest, read_arrow, read_lines, read_one
from tamis.broker.messages import BatchPublished, Published
from tamis.broker.settings import Settings
from tamis.errors import EventError

router = APIRouter(prefix="/v1/events", tags=["events"], dependencies=[KEY])
ValidFor = Annotated[
    float,
    Query(ge=0, le=10**9, allow_inf_nan=False, description="Seconds during which new subscriptions still get it."),
]
IdempotencyKey = Annotated[
    str | None, Header(min_length=1, max_length=200, description="The same key publishes the same event once.")
]
EVENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"type": "object", "additionalProperties": True},
                "example": {"item": "camera", "price": 199, "seller": {"city": "Lyon"}},
            }
        },
    }
}
LINES, ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"
BATCH: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            LINES: {"schema": {"type": "string"}, "example": '{"item": "camera"}\n{"item": "lens"}\n'},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("", status_code=201, responses=documented(401, 409, 507), openapi_extra=EVENT)
async def publish(
    request: Request, broker: Broker, valid_for: ValidFor = 0, idempotency_key: IdempotencyKey = None
) -> Published:
    """Publish one event. When the answer comes, it and its notifications are on the disk."""
    lasting = duration(valid_for, broker.settings)
    event = read_one(await request.body(), broker.settings, lasting, key_digest(idempotency_key))
    (outcome,) = await broker.publish([event])
    if not isinstance(outcome, Outcome):
        raise outcome
    return Published(id=f"e{outcome.event}", matched=outcome.matched, duplicate=outcome.duplicate)


@router.post(
    "/batch", status_code=201, response_model=BatchPublished, responses=documented(401, 415, 507), openapi_extra=BATCH
)
async def publish_batch(
    request: Request, broker: Broker, valid_for: ValidFor = 0, idempotency_key: IdempotencyKey = None
) -> Response:
    """Publish many events, all in one group: newline-delimited JSON or an Arrow stream. Bad lines are told and left out."""
    readers = {LINES: read_lines, ARROW: read_arrow}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in readers:
        raise HTTPException(415, f"a batch is {LINES} or {ARROW}")
    broker.writer.check_room(1)
    body, lasting = await request.body(), duration(valid_for, broker.settings)
    batch = await asyncio.to_thread(readers[kind], body, broker.settings, lasting, idempotency_key)
    outcomes = await broker.publish(batch.events) if batch.events else []
    refused = [{"line": line, "error": text.encode("utf-8", "replace").decode()} for line, text in batch.refused]
    done = [outcome for outcome in outcomes if isinstance(outcome, Outcome)]
    if len(done) < len(outcomes):
        refused.append(
            {"line": 0, "error": "this idempotency key was used for another batch; some events were left out"}
        )
    answer = {"ids": [f"e{o.event}" for o in done], "matched": [o.matched for o in done], "refused": refused}
    return Response(msgspec.json.encode(answer), 201, media_type="application/json")


def duration(seconds: float, settings: Settings) -> int:
    """Milliseconds, within what an event may ask for."""
    if seconds > settings.event_valid_max:
        raise EventError(f"valid_for = {seconds:g} s exceeds event_valid_max = {settings.event_valid_max:g} s")
    return round(seconds * 1000)
