"""When two operator predicates are the same: constants agree and variables unify.

`p(?x, ?y)` is `p(?a, ?b)` but not `p(?x, ?x)`. Variables are numbered by first appearance, which makes equality syntactic.
"""

from dataclasses import dataclass

from tamis.model.predicate import OperatorPredicate, Variable


@dataclass(frozen=True, slots=True)
class Canonical:
    """A predicate up to the names of its variables, and the names one particular use gave them, in order."""

    predicate: OperatorPredicate
    names: tuple[str, ...]


def canonical(predicate: OperatorPredicate) -> Canonical:
    """The predicate with its variables renamed `0`, `1`, … by first appearance."""
    names: dict[str, int] = {}
    arguments = tuple(
        Variable(str(names.setdefault(a.name, len(names)))) if isinstance(a, Variable) else a
        for a in predicate.arguments
    )
    return Canonical(OperatorPredicate(predicate.name, arguments), tuple(names))


def named(predicate: OperatorPredicate, names: tuple[str, ...]) -> OperatorPredicate:
    """A canonical predicate with the variable names of one use."""
    given = (Variable(names[int(a.name)]) if isinstance(a, Variable) else a for a in predicate.arguments)
    return OperatorPredicate(predicate.name, tuple(given))


def shown(predicate: OperatorPredicate) -> str:
    """The predicate as one would write it."""
    parts = (f"?{a.name}" if isinstance(a, Variable) else constant(a) for a in predicate.arguments)
    return f"{predicate.name}({', '.join(parts)})"


def constant(value: bool | int | float | str) -> str:
    """A constant as one would write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
