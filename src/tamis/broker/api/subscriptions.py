"""Subscriptions and their queues."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from tamis.broker.api.access import KEY, Broker, Number, StrictRoute, Ticket
from tamis.broker.api.problems import documented
from tamis.broker.delivery.envelope import envelope
from tamis.broker.delivery.follow import follow
from tamis.broker.delivery.pull import pull
from tamis.broker.delivery.sse import EventStream
from tamis.broker.delivery.targets import check_url
from tamis.broker.delivery.webhook import new_secret
from tamis.broker.messages import (
    Acknowledged,
    AckRequest,
    DeadLetters,
    Explained,
    ExplainRequest,
    Page,
    Renewed,
    RenewRequest,
    ReplaceRequest,
    Status,
    Subscribed,
    SubscribeRequest,
)
from tamis.broker.names import event_number
from tamis.broker.settings import Settings
from tamis.errors import EventError, FilterError

router = APIRouter(prefix="/v1/subscriptions", tags=["subscriptions"], route_class=StrictRoute)
After = Annotated[int | None, Query(ge=0, lt=2**63, description="Only what comes after this cursor.")]
Limit = Annotated[int, Query(ge=1, le=256)]
OPENS = documented(403)
CHANGES = documented(403, 507)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Notifications as they come."}
}


@router.post("", status_code=201, responses=documented(401, 507), dependencies=[KEY])
async def subscribe(request: SubscribeRequest, broker: Broker) -> Subscribed:
    """Leave a condition; its ticket is in the answer and nowhere else. Valid events are replayed to it unless told not to."""
    webhook = None
    if request.webhook is not None:
        check_url(request.webhook, broker.settings.loopback_webhooks)
        webhook = (request.webhook, new_secret())
    valid_for = duration(request.valid_for, broker.settings)
    opened = await broker.do(
        lambda core: core.subscribe(request.filter, request.owner, valid_for, request.replay, webhook)
    )
    secret = webhook[1] if webhook else None
    return Subscribed(
        id=f"s{opened.number}", ticket=opened.ticket, expires=opened.expires / 1000, webhook_secret=secret
    )


@router.get("/{id}", responses=OPENS)
async def status(number: Number, ticket: Ticket, broker: Broker) -> Status:
    """A subscription and where its queue stands."""
    row = await broker.authorise(number, ticket)
    standing = broker.standing(number)
    return Status(
        id=f"s{number}",
        filter=row.filter,
        owner=row.owner,
        created=row.created / 1000,
        expires=row.expires / 1000,
        cursor=row.cursor,
        last=standing.last if standing else row.cursor,
        webhook=row.webhook,
    )


@router.post("/{id}/renew", responses=CHANGES)
async def renew(request: RenewRequest, number: Number, ticket: Ticket, broker: Broker) -> Renewed:
    """Stand longer: `valid_for` seconds from now."""
    valid_for = duration(request.valid_for, broker.settings)
    expires = await broker.do(lambda core: core.renew(number, ticket, valid_for))
    return Renewed(id=f"s{number}", expires=expires / 1000)


@router.put("/{id}", status_code=204, responses=CHANGES)
async def replace(request: ReplaceRequest, number: Number, ticket: Ticket, broker: Broker) -> None:
    """Another condition for the same queue."""
    await broker.do(lambda core: core.replace(number, ticket, request.filter, request.replay))


@router.delete("/{id}", status_code=204, responses=CHANGES)
async def unsubscribe(number: Number, ticket: Ticket, broker: Broker) -> None:
    """Forget the subscription and everything in its queue."""
    await broker.do(lambda core: core.unsubscribe(number, ticket))


@router.get("/{id}/notifications", response_model=Page, responses=OPENS)
async def notifications(
    number: Number,
    ticket: Ticket,
    broker: Broker,
    after: After = None,
    limit: Limit = 100,
    wait: Annotated[float, Query(ge=0, le=60, allow_inf_nan=False, description="Seconds to wait for the first.")] = 0,
) -> Response:
    """The next notifications, after `after` or after the last acknowledged one. Reading does not acknowledge."""
    row = await broker.authorise(number, ticket)
    found = await pull(broker, number, row.cursor if after is None else after, limit, wait)
    broker.metrics.sent.labels("pull").inc(len(found))
    body = {"notifications": [envelope(number, delivery) for delivery in found], "cursor": row.cursor}
    return Response(msgspec.json.encode(body), media_type="application/json")


@router.post("/{id}/ack", responses=CHANGES)
async def acknowledge(request: AckRequest, number: Number, ticket: Ticket, broker: Broker) -> Acknowledged:
    """Everything up to `cursor` has been dealt with."""
    cursor = await broker.do(lambda core: core.acknowledge(number, ticket, request.cursor))
    return Acknowledged(cursor=cursor)


@router.get(
    "/{id}/stream",
    response_class=Response,
    responses=STREAM | OPENS,
)
async def stream(
    number: Number,
    ticket: Ticket,
    broker: Broker,
    after: After = None,
    last_event_id: Annotated[str | None, Header(max_length=40, description="The `id` to resume after.")] = None,
) -> Response:
    """Notifications as server-sent events. At most 256 may wait for an acknowledgement; then the stream pauses."""
    await broker.authorise(number, ticket)
    if after is None and last_event_id and last_event_id.isdecimal() and last_event_id.isascii():
        after = min(int(last_event_id[:19]), 2**63 - 1)
    return EventStream(number, follow(broker, number, after, "sse"))


@router.get("/{id}/dead-letters", response_model=DeadLetters, responses=OPENS)
async def dead_letters(
    number: Number, ticket: Ticket, broker: Broker, after: After = None, limit: Limit = 100
) -> Response:
    """Notifications that were given up. They can be read for a day, also after the subscription has expired."""
    found = await broker.dead_letters(number, ticket, after or 0, limit)
    body = {"dead_letters": [envelope(number, delivery) for delivery in found]}
    return Response(msgspec.json.encode(body), media_type="application/json")


@router.post("/{id}/explain", responses=OPENS)
async def explain(request: ExplainRequest, number: Number, ticket: Ticket, broker: Broker) -> Explained:
    """Why the subscription does or does not match an event, predicate by predicate."""
    await broker.authorise(number, ticket)
    event = request.event
    if (event is None) == (request.event_id is None):
        raise EventError("give either event or event_id")
    if request.event_id is not None:
        seq = event_number(request.event_id)
        kept = await broker.read(lambda store: store.event(seq))
        if kept is None:
            raise EventError(f"event {request.event_id!r} is not kept any more, or never was")
        event = msgspec.json.decode(kept.body)
    assert event is not None
    explanation = await broker.explain(number, event)
    return Explained(id=f"s{number}", matched=explanation.matched, tree=explanation.data, text=explanation.text)


def duration(seconds: float, settings: Settings) -> int:
    """Milliseconds, within what a subscription may ask for."""
    if seconds > settings.subscription_valid_max:
        raise FilterError(
            f"valid_for = {seconds:g} s exceeds subscription_valid_max = {settings.subscription_valid_max:g} s"
        )
    return max(1, round(seconds * 1000))
