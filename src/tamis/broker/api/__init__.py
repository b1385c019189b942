"""The broker over HTTP: subscriptions, events, streams, health and metrics, described by an OpenAPI document.

A subscription is opened by its ticket (`Authorization: Bearer …`), never by anything in the address. Everything wrong is told
as a problem (RFC 9457) with a title, a status and a detail fit for people.
"""

from tamis.broker.api.app import create_app

__all__ = ["create_app"]
