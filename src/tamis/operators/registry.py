"""Operators by name: declared with `@operator`, shipped ones, and those of other packages (entry points `tamis.operators`).

    @tamis.operator("near", cost=1e-3, selectivity=0.1)
    def near(event, lat, lon, metres) -> bool: ...

    @tamis.operator("faceCount", outputs=1, isolate=True)
    def face_count(event) -> int: ...            # faceCount(?n) and ?n > 2, or faceCount(3)

A function with `outputs` is given the event and the arguments before the last `outputs` ones; what it returns (one value, one
tuple, or an iterable of them; None for nothing) is matched with those last arguments, variables and constants alike. A
function without `outputs` is given all arguments, variables as `Variable`, and answers with a truth value, or with rows
that give each distinct variable a value, in order of appearance. `check` is called with the arguments of every new
subscription (variables as `Variable`) and may refuse them with an OperatorError.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal, TypeVar

from tamis.errors import MissingExtra, OperatorError, nearest

GROUP = "tamis.operators"
F = TypeVar("F", bound=Callable[..., Any])
Style = Literal["plain", "async", "batch"]

SHIPPED: dict[str, str] = {
    "locIn": "tamis.operators.spatial:loc_in",
    "locWithin": "tamis.operators.spatial:loc_within",
    "distanceFrom": "tamis.operators.spatial:distance_from",
    "mentions": "tamis.operators.text:mentions",
    "faceCount": "tamis.operators.vision:face_count",
    "pedestrianCount": "tamis.operators.vision:pedestrian_count",
    "entails": "tamis.operators.logic:entails",
    "isA": "tamis.operators.ontology:is_a",
    "lookup": "tamis.operators.lookup:lookup",
}


@dataclass(frozen=True, slots=True)
class Operator:
    """A callable and what is known and demanded of it. Time and memory are limited only when it is isolated or async."""

    name: str
    function: Callable[..., Any]
    cost: float = 1e-3
    selectivity: float = 0.5
    outputs: int | None = None
    style: Style = "plain"
    isolate: bool = False
    seconds: float = 2.0
    megabytes: int = 512
    bindings: int = 10_000
    check: Callable[..., None] | None = None
    least: int = 0
    most: int | None = 0

    @property
    def arity(self) -> str:
        """How many arguments it takes, in words."""
        if self.most == self.least:
            return f"{self.least} argument{'s' * (self.least != 1)}"
        return f"{self.least} or more arguments" if self.most is None else f"{self.least} to {self.most} arguments"


def make_operator(name: str, function: Callable[..., Any], **settings: Any) -> Operator:
    """An Operator with its arity read from the function's signature; refuses settings that contradict each other."""
    batch = settings.pop("batch", False)
    style: Style = "batch" if batch else "async" if inspect.iscoroutinefunction(function) else "plain"
    outputs = settings.get("outputs") or 0
    least, most = argument_range(name, function)
    built = Operator(
        name, function, style=style, least=least + outputs, most=None if most is None else most + outputs, **settings
    )
    if not 0 <= built.selectivity <= 1:
        raise OperatorError(f"operator {name!r}: selectivity is a probability, not {built.selectivity}")
    if min(built.cost, built.seconds, built.megabytes, built.bindings) <= 0:
        raise OperatorError(f"operator {name!r}: cost and limits are positive")
    if batch and inspect.iscoroutinefunction(function):
        raise OperatorError(f"operator {name!r}: a batch operator is a plain function, not async")
    if built.isolate and style != "plain":
        raise OperatorError(f"operator {name!r}: only plain operators can be isolated, not {style} ones")
    return built


def argument_range(name: str, function: Callable[..., Any]) -> tuple[int, int | None]:
    """Least and most arguments after the event."""
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not positional:
        raise OperatorError(f"operator {name!r}: the function takes the event as its first argument")
    needed = sum(p.default is p.empty for p in positional[1:])
    unlimited = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return needed, None if unlimited else len(positional) - 1


class Registry:
    """Operators by name. Declared ones win over shipped ones, those over entry points; all are loaded when first used."""

    def __init__(self, shipped: dict[str, str] | None = None, group: str | None = None) -> None:
        self._operators: dict[str, Operator] = {}
        self._shipped = dict(shipped or {})
        self._group = group

    def add(self, operator: Operator) -> None:
        """Declare an operator; a name can be declared again, which replaces it for subscriptions to come."""
        self._operators[operator.name] = operator

    def operator(self, name: str, **settings: Any) -> Callable[[F], F]:
        """The decorator; the function itself is left as it is."""

        def declare(function: F) -> F:
            self.add(make_operator(name, function, **settings))
            return function

        return declare

    def names(self) -> list[str]:
        """All names that can be asked for."""
        return sorted({*self._operators, *self._shipped, *self._entry_points()})

    def get(self, name: str) -> Operator:
        """The operator of that name, or an error with the nearest one."""
        found = self._operators.get(name)
        if found is not None:
            return found
        if name in self._shipped:
            module, _, attribute = self._shipped[name].partition(":")
            try:
                loaded = getattr(import_module(module), attribute)
            except ImportError as problem:
                raise MissingExtra(f"operator {name!r} ({problem})", "operators") from None
        elif name in (others := self._entry_points()):
            loaded = others[name].load()
        else:
            known = self.names()
            listed = ", ".join(known) or "none"
            raise OperatorError(f"there is no operator {name!r}{nearest(name, known)} (operators: {listed})")
        if not isinstance(loaded, Operator):
            raise OperatorError(f"the entry point of operator {name!r} is {loaded!r}, not an Operator")
        self._operators[name] = loaded
        return loaded

    def _entry_points(self) -> dict[str, Any]:
        return {point.name: point for point in entry_points(group=self._group)} if self._group else {}


OPERATORS = Registry(SHIPPED, GROUP)


def operator(name: str, **settings: Any) -> Callable[[F], F]:
    """Declare a function as an operator for the whole process (see the top of this module for its settings)."""
    return OPERATORS.operator(name, **settings)
