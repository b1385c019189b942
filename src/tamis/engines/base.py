"""What an engine is: built from a `SubscriptionTable`, it turns an `EventBatch` into a `MatchSet`."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.single import SinglePairs
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.errors import EngineError, nearest
from tamis.predicates.text import AUTOMATON


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an engine; each engine with options of its own subclasses this with defaults for every field."""

    @property
    def text_structure(self) -> str:
        """How text patterns are found in values (`predicates/text.py`), by whoever feeds the engine."""
        return AUTOMATON


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine says of itself. `source` names the paper or system it comes from; a `concurrent` engine may match in
    several threads at once, also while another thread changes it."""

    summary: str
    source: str
    incremental: bool = True
    concurrent: bool = False


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Sizes and the work done since the engine was built; `details` holds what only this engine knows."""

    subscriptions: int
    conjunctions: int
    bytes_held: int
    events: int = 0
    candidates: int = 0
    matches: int = 0
    details: dict[str, Any] = field(default_factory=dict)


class Matching(Protocol):
    """Turns events into matches."""

    def match(self, events: EventBatch) -> MatchSet:
        """For each event the subscriptions it satisfies, each once."""
        ...

    def stats(self) -> EngineStats:
        """Sizes and counters."""
        ...


class Engine(Matching, Protocol):
    """Narrow, then verify: every engine takes every subscription of the language."""

    capabilities: ClassVar[Capabilities]
    options_type: ClassVar[type[Options]]

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """An engine over the given conjunctions."""
        ...


@runtime_checkable
class Updatable(Matching, Protocol):
    """Its subscriptions change while it lives."""

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """Add subscriptions whose ids are not in use."""
        ...

    def remove(self, ids: Int32Array) -> None:
        """Remove subscriptions, ignoring ids that are not there; removed ids may be used again."""
        ...


class Incremental(Engine, Updatable, Protocol):
    """An engine that changes by its own means: what `Capabilities.incremental` declares."""


@runtime_checkable
class Quick(Updatable, Protocol):
    """It takes single events without a batch."""

    def match_single(self, pairs: SinglePairs) -> Int32Array | None:
        """Ids for one event, or None when it must come as a batch."""
        ...


@runtime_checkable
class Saveable(Updatable, Protocol):
    """Its index can be written to a directory and opened from there without building it again."""

    dictionary: Dictionary

    def frozen(self) -> Callable[[Path], None]:
        """What writes everything, as it is now, to a directory, replacing what stood there in one step; the engine may
        change meanwhile."""
        ...

    @classmethod
    def open(cls, path: str | Path, options: Any) -> Self:
        """The engine that was saved, or a StorageError."""
        ...


AnyOptions = TypeVar("AnyOptions", bound=Options)


def make_options(kind: type[AnyOptions], engine: str, given: dict[str, Any]) -> AnyOptions:
    """Options from keyword arguments, or an error naming the one that is unknown or of another kind than its default."""
    known = {f.name: f.default for f in fields(kind)}
    for name, value in given.items():
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise EngineError(f"engine {engine!r} has no option {name!r}{nearest(name, known)} (options: {listed})")
        default = known[name]
        if isinstance(default, (bool, int, float, str)) and not resembles(value, default):
            raise EngineError(f"engine {engine!r}: option {name} takes {KINDS[type(default)]}, not {value!r}")
    return kind(**given)


KINDS: dict[type, str] = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


def resembles(value: object, default: bool | int | float | str) -> bool:
    """Whether a value is of its default's kind; an integer will do for a number, a boolean is neither."""
    wanted = (int, float) if isinstance(default, float) else type(default)
    return isinstance(value, wanted) and isinstance(value, bool) is isinstance(default, bool)
