"""Conditions as trees of atoms, and their disjunctive normal form."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tamis.model.predicate import Atom

SubscriptionId: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Constant:
    """`true` or `false` as a whole condition."""

    value: bool


@dataclass(frozen=True, slots=True)
class Not:
    """Negation; the negation of unknown is unknown."""

    child: "Expression"


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of two or more children."""

    children: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of two or more children."""

    children: tuple["Expression", ...]


Expression: TypeAlias = Atom | Constant | Not | And | Or


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom or its negation. A negated predicate holds if the attribute is present and *no* value satisfies the atom;
    with list values that is more than the opposite operator says (`not (a = 5)` against `a != 5` on [5, 6])."""

    atom: Atom
    negated: bool = False


Conjunction: TypeAlias = tuple[Literal, ...]
Dnf: TypeAlias = tuple[Conjunction, ...]
"""No conjunction: never matches. An empty conjunction: always matches."""


def atoms(expression: Expression) -> Iterator[Atom]:
    """All atoms of an expression, left to right."""
    stack: list[Expression] = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, (And, Or)):
            stack.extend(reversed(node.children))
        elif isinstance(node, Not):
            stack.append(node.child)
        elif not isinstance(node, Constant):
            yield node
