"""What travels between a broker and its clients, as JSON. Times are seconds since the epoch; durations are seconds."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tamis.broker.settings import DAY

FilterText = Annotated[str, Field(min_length=1, max_length=65536, examples=["item = 'camera' and price < 300"])]
Duration = Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)]


class Message(BaseModel):
    """Unknown fields are refused: a misspelt option must not be ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SubscribeRequest(Message):
    """A condition to leave with the broker."""

    filter: FilterText
    owner: Annotated[str, Field(max_length=200)] | None = None
    valid_for: Duration = DAY
    replay: bool = True
    webhook: Annotated[str, Field(max_length=2000)] | None = None


class Subscribed(Message):
    """A new subscription. The ticket, and the secret webhooks are signed with, are told this one time."""

    id: str
    ticket: str
    expires: float
    webhook_secret: str | None = None


class RenewRequest(Message):
    """How much longer, from now."""

    valid_for: Duration = DAY


class Renewed(Message):
    """Until when the subscription stands now."""

    id: str
    expires: float


class ReplaceRequest(Message):
    """Another condition for the same queue."""

    filter: FilterText
    replay: bool = True


class AckRequest(Message):
    """Everything up to this notification has been dealt with."""

    cursor: Annotated[int, Field(ge=0, lt=2**63)]


class Acknowledged(Message):
    """Where the cursor stands."""

    cursor: int


class Status(Message):
    """A subscription and its queue."""

    id: str
    filter: str
    owner: str | None
    created: float
    expires: float
    cursor: int
    last: int
    webhook: str | None


class Notification(Message):
    """An event for a subscription. The id never changes; `cursor` is its place in the queue."""

    id: str
    cursor: int
    subscription: str
    event_id: str
    published: float
    event: dict[str, Any]


class Page(Message):
    """The next notifications; `cursor` is the last acknowledged one."""

    notifications: list[Notification]
    cursor: int


class DeadLetter(Notification):
    """A notification that was given up, when and why."""

    reason: str
    buried: float


class DeadLetters(Message):
    """Some of them, oldest first."""

    dead_letters: list[DeadLetter]


class Published(Message):
    """An event that is on the disk, with its notifications."""

    id: str
    matched: int
    duplicate: bool = False


class Refused(Message):
    """A line of a batch that was left out; lines are counted from 1."""

    line: int
    error: str


class BatchPublished(Message):
    """What became of a batch: an entry per accepted event, in order, and what was refused."""

    ids: list[str]
    matched: list[int]
    refused: list[Refused]


class ExplainRequest(Message):
    """An event, given as such or by the id of a published one."""

    event: dict[str, Any] | None = None
    event_id: Annotated[str, Field(max_length=40)] | None = None


class Explained(Message):
    """Why a subscription does or does not match an event: as a tree of outcomes and as text."""

    id: str
    matched: bool
    tree: dict[str, Any]
    text: str


class Problem(Message):
    """What went wrong (RFC 9457)."""

    title: str
    status: int
    detail: str


class Health(Message):
    """Whether the broker is alive, or ready, and why not."""

    status: str
