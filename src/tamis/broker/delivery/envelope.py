"""A notification as JSON. The event's own JSON is put in as it is stored, not parsed and written again."""

from typing import Any

import msgspec

from tamis.broker.rows import Delivery


def envelope(number: int, delivery: Delivery) -> dict[str, Any]:
    """The fields of a notification, or of a dead letter."""
    fields: dict[str, Any] = {
        "id": f"s{number}.{delivery.n}",
        "cursor": delivery.n,
        "subscription": f"s{number}",
        "event_id": f"e{delivery.event.seq}",
        "published": delivery.event.published / 1000,
        "event": msgspec.Raw(delivery.event.body),
    }
    if delivery.reason:
        fields |= {"reason": delivery.reason, "buried": delivery.buried / 1000}
    return fields


def encode(number: int, delivery: Delivery) -> bytes:
    """A notification as compact JSON, in one line."""
    return msgspec.json.encode(envelope(number, delivery))
