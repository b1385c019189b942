"""Explanations: a trace of a condition over an event, as data and as a text tree for people."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tamis.lang import show
from tamis.model.evaluate import AtomTruth, Truth, holds
from tamis.model.event import Event
from tamis.model.explain import Trace, trace
from tamis.model.predicate import Atom, Constraint, OperatorPredicate, Predicate
from tamis.model.subscription import And, Expression, Not, Or, SubscriptionId

WORDS: dict[Truth, str] = {True: "true", False: "false", None: "unknown"}
MARKS: dict[Truth, str] = {True: "✓", False: "✗", None: "?"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why subscription `id` does or does not match an event."""

    id: SubscriptionId
    matched: bool
    data: dict[str, Any]
    text: str

    def __str__(self) -> str:
        return self.text


Notes = Mapping[Atom, str]


def explain(
    identifier: SubscriptionId,
    expression: Expression,
    event: Event,
    truth: AtomTruth = holds,
    notes: Notes = MappingProxyType({}),
) -> Explanation:
    """Evaluate every node of the condition and tell the outcome of each; `notes` add what operators and constraints saw."""
    root = trace(expression, event, truth)
    verdict = "matches" if root.outcome is True else "does not match"
    text = "\n".join([f"{identifier} {verdict}", *tree(root, notes)])
    return Explanation(identifier, root.outcome is True, as_data(root, notes), text)


def as_data(node: Trace, notes: Notes) -> dict[str, Any]:
    """The trace as plain nested data, fit for JSON."""
    data: dict[str, Any] = {"condition": show(node.expression), "outcome": WORDS[node.outcome]}
    if isinstance(node.expression, Predicate):
        data["values"] = None if node.values is None else list(node.values)
    if node.children:
        data["children"] = [as_data(child, notes) for child in node.children]
    elif note := noted(node, notes):
        data["note"] = note
    return data


def tree(node: Trace, notes: Notes, lead: str = "", branch: str = "") -> list[str]:
    """The trace as lines, children indented under their connective."""
    lines = [f"{lead}{branch}{MARKS[node.outcome]} {title(node, notes)}"]
    inner = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for child in node.children:
        lines += tree(child, notes, inner, "└─ " if child is node.children[-1] else "├─ ")
    return lines


def noted(node: Trace, notes: Notes) -> str:
    """The note on an atom, if any."""
    atom = node.expression
    return notes.get(atom, "") if isinstance(atom, (OperatorPredicate, Constraint)) else ""


def title(node: Trace, notes: Notes) -> str:
    """One line for a node: its connective, or its predicate and the values it saw."""
    expression = node.expression
    for kind, word in ((And, "and"), (Or, "or"), (Not, "not")):
        if isinstance(expression, kind):
            return word
    text = show(expression)
    if not isinstance(expression, Predicate):
        note = noted(node, notes)
        return f"{text}   ({note})" if note else text
    if node.values is None:
        return f"{text}   ({expression.attribute} is absent)"
    shown = ", ".join(repr(v) for v in node.values)
    return f"{text}   ({expression.attribute} is {shown if len(node.values) == 1 else f'[{shown}]'})"
