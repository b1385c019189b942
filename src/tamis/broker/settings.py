"""What a broker allows and how long it waits. Times are seconds; every refusal names the limit that was hit."""

from dataclasses import dataclass, field

from tamis.model.limits import Limits
from tamis.model.schema import PublicationType
from tamis.operators import Registry

MINUTE, HOUR, DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Settings:
    """Bounds of one broker; the defaults suit one machine that faces strangers."""

    limits: Limits = field(default_factory=Limits)
    type: PublicationType | None = None
    # operators run code of this machine on events of strangers: none unless they are given
    operators: Registry = field(default_factory=Registry)
    # validity
    subscription_valid_max: float = 30 * DAY
    event_valid_max: float = 7 * DAY
    event_kept: float = HOUR
    key_kept: float = DAY
    dead_letter_kept: float = DAY
    # queues and streams
    in_flight: int = 256
    queue: int = 100_000
    ack_wait: float = 30
    attempts: int = 20
    write_deadline: float = 10
    keep_alive: float = 15
    long_poll_max: float = 60
    streams: int = 2048
    streams_per_subscription: int = 8
    # load
    group_events: int = 4096
    waiting_events: int = 20_000
    waiting_commands: int = 2_000
    batch_events: int = 10_000
    batch_bytes: int = 16 << 20
    body_bytes: int = 256 << 20
    requests: int = 1024
    requests_per_client: int = 512
    replay_slice: int = 2_000
    # webhooks
    webhook_timeout: float = 10
    webhook_backoff: float = 1
    webhook_backoff_max: float = HOUR
    webhook_at_once: int = 64
    loopback_webhooks: bool = False
    # access: digests of the keys that may publish or subscribe; empty means anybody
    api_keys: tuple[bytes, ...] = ()
    # the saved index is written again after this many changes of subscriptions
    index_changes: int = 100_000
