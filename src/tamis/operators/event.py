"""The event as an operator sees it: a read-only mapping from attribute to its value, or to the tuple of its values."""

from collections.abc import Iterator, Mapping

from tamis.model.event import Event
from tamis.model.values import Scalar

Value = Scalar | tuple[Scalar, ...]


class Absent(KeyError):
    """An operator asked for an attribute the event lacks: its predicate is unknown, and nobody is to blame."""


class EventView(Mapping[str, Value]):
    """`view["lat"]` is a scalar, or a tuple where the event has several values; an absent attribute raises Absent."""

    __slots__ = ("_event",)

    def __init__(self, event: Event) -> None:
        self._event = event

    def __getitem__(self, name: str) -> Value:
        values = self._event.get(name)
        if values is None:
            raise Absent(name)
        return values[0] if len(values) == 1 else values

    def values_of(self, name: str) -> tuple[Scalar, ...]:
        """All values of an attribute; empty when absent."""
        return self._event.get(name, ())

    def number(self, name: str) -> float:
        """The one number an attribute holds, or Absent."""
        value = self[name]
        if isinstance(value, (bool, str, tuple)):
            raise Absent(f"{name} is not one number")
        return float(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._event)

    def __len__(self) -> int:
        return len(self._event)
