"""Why a condition does or does not hold for an event, node by node."""

from dataclasses import dataclass, field

from tamis.model.evaluate import AtomTruth, Truth, evaluate, holds
from tamis.model.event import Event
from tamis.model.predicate import Predicate
from tamis.model.subscription import And, Expression, Not, Or
from tamis.model.values import Scalar


@dataclass(frozen=True, slots=True)
class Trace:
    """One node of the condition with its outcome, the values it saw, and its children."""

    expression: Expression
    outcome: Truth
    values: tuple[Scalar, ...] | None = None
    children: tuple["Trace", ...] = field(default=())


def trace(expression: Expression, event: Event, truth: AtomTruth = holds) -> Trace:
    """The whole tree, every node evaluated (no short cut), so that a reader sees each predicate's outcome."""
    outcome = evaluate(expression, event, truth)
    if isinstance(expression, (And, Or)):
        return Trace(expression, outcome, None, tuple(trace(c, event, truth) for c in expression.children))
    if isinstance(expression, Not):
        return Trace(expression, outcome, None, (trace(expression.child, event, truth),))
    seen = event.get(expression.attribute) if isinstance(expression, Predicate) else None
    return Trace(expression, outcome, seen)
