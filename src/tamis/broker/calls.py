"""Requests and answers of the broker's API as data, shared by the blocking and the asynchronous client."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import httpx
import msgspec
from pydantic import BaseModel

from tamis.broker import messages
from tamis.broker.settings import DAY
from tamis.errors import BrokerError, BusyError, ConflictError, FullError, TicketError, UnknownOutcome

M = TypeVar("M", bound=BaseModel)


class Opens(Protocol):
    """A subscription's id and ticket: what `subscribe` answers, or `Handle` made of stored parts."""

    @property
    def id(self) -> str:
        """Name of the subscription."""

    @property
    def ticket(self) -> str:
        """Its secret."""


@dataclass(frozen=True, slots=True)
class Handle:
    """Id and ticket of a subscription that was made earlier."""

    id: str
    ticket: str


@dataclass(frozen=True, slots=True)
class Call(Generic[M]):
    """One request, and the message its answer holds (none for an empty answer)."""

    method: str
    path: str
    answer: type[M] | None = None
    opens: Opens | None = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    wait: float = 0

    def request(self) -> dict[str, Any]:
        """Arguments for httpx."""
        headers = {"content-type": "application/json"} | self.headers if self.body is not None else dict(self.headers)
        if self.opens is not None:
            headers["authorization"] = f"Bearer {self.opens.ticket}"
        query = {name: value for name, value in self.query.items() if value is not None}
        return {"method": self.method, "url": self.path, "content": self.body, "headers": headers, "params": query}

    def read(self, response: httpx.Response) -> M | None:
        """The message of an answer, or the error it tells."""
        if response.status_code >= 400:
            raise refusal(response)
        return self.answer.model_validate_json(response.content) if self.answer else None


def refusal(response: httpx.Response) -> BrokerError:
    """A problem as one of our errors."""
    status = response.status_code
    try:
        detail = str(msgspec.json.decode(response.content)["detail"])
    except (msgspec.DecodeError, KeyError, TypeError):
        detail = f"the broker answered {status}"
    after = response.headers.get("retry-after", "")
    if status in (429, 503) and after.isdecimal():
        return BusyError(detail.partition("; try again")[0], int(after), client=status == 429)
    if status == 403:
        return TicketError()
    kinds = {409: ConflictError, 503: UnknownOutcome, 507: FullError}
    return kinds.get(status, BrokerError)(detail)


def json(**fields: Any) -> bytes:
    """A JSON object."""
    return msgspec.json.encode(fields)


def path(opens: Opens, *parts: str) -> str:
    """The address of a subscription or of something of it."""
    return "/".join(("/v1/subscriptions", opens.id, *parts))


def subscribe(
    filter: str, owner: str | None = None, valid_for: float = DAY, replay: bool = True, webhook: str | None = None
) -> Call[messages.Subscribed]:
    """A new subscription."""
    body = json(filter=filter, owner=owner, valid_for=valid_for, replay=replay, webhook=webhook)
    return Call("POST", "/v1/subscriptions", messages.Subscribed, body=body)


def status(opens: Opens) -> Call[messages.Status]:
    """A subscription and its queue."""
    return Call("GET", path(opens), messages.Status, opens)


def renew(opens: Opens, valid_for: float = DAY) -> Call[messages.Renewed]:
    """Stand longer."""
    return Call("POST", path(opens, "renew"), messages.Renewed, opens, json(valid_for=valid_for))


def replace(opens: Opens, filter: str, replay: bool = True) -> Call[messages.Acknowledged]:
    """Another condition."""
    return Call("PUT", path(opens), None, opens, json(filter=filter, replay=replay))


def unsubscribe(opens: Opens) -> Call[messages.Acknowledged]:
    """Forget it."""
    return Call("DELETE", path(opens), None, opens)


def notifications(opens: Opens, after: int | None = None, limit: int = 100, wait: float = 0) -> Call[messages.Page]:
    """The next notifications."""
    query = {"after": after, "limit": limit, "wait": wait}
    return Call("GET", path(opens, "notifications"), messages.Page, opens, query=query, wait=wait)


def ack(opens: Opens, cursor: int) -> Call[messages.Acknowledged]:
    """Dealt with."""
    return Call("POST", path(opens, "ack"), messages.Acknowledged, opens, json(cursor=cursor))


def dead_letters(opens: Opens, after: int | None = None, limit: int = 100) -> Call[messages.DeadLetters]:
    """What was given up."""
    query = {"after": after, "limit": limit}
    return Call("GET", path(opens, "dead-letters"), messages.DeadLetters, opens, query=query)


def explain(
    opens: Opens, event: Mapping[str, Any] | None = None, event_id: str | None = None
) -> Call[messages.Explained]:
    """Why it matches or not."""
    return Call("POST", path(opens, "explain"), messages.Explained, opens, json(event=event, event_id=event_id))


def publish(event: Mapping[str, Any], valid_for: float = 0, key: str | None = None) -> Call[messages.Published]:
    """One event."""
    return Call(
        "POST", "/v1/events", messages.Published, None, msgspec.json.encode(event), keyed(key), {"valid_for": valid_for}
    )


def publish_many(
    events: Iterable[Mapping[str, Any]], valid_for: float = 0, key: str | None = None
) -> Call[messages.BatchPublished]:
    """Many events."""
    body = b"\n".join(msgspec.json.encode(event) for event in events)
    headers = {"content-type": "application/x-ndjson"} | keyed(key)
    return Call("POST", "/v1/events/batch", messages.BatchPublished, None, body, headers, {"valid_for": valid_for})


def keyed(key: str | None) -> dict[str, str]:
    """The header of an idempotency key."""
    return {} if key is None else {"idempotency-key": key}


class Frames:
    """Server-sent events out of lines: feed lines, get notifications."""

    def __init__(self) -> None:
        self._data: list[str] = []

    def feed(self, line: str) -> messages.Notification | None:
        """One line; a notification when it completes one."""
        if line.startswith("data: "):
            self._data.append(line[6:])
        elif not line and self._data:
            text, self._data = "\n".join(self._data), []
            return messages.Notification.model_validate_json(text)
        return None
