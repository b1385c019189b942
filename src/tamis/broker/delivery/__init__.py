"""Notifications on their way out: pulled, streamed (server-sent events, WebSocket), or pushed to a webhook.

Every way reads the same durable queue and may send a notification again; its id never changes. A stream or a webhook that is
slow holds up nobody else: each reads its queue from the disk at its own pace.
"""
