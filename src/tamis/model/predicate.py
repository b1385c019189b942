"""Atoms of a condition: predicates on attributes, operator predicates, and constraints on variables."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal as OneOf
from typing import TypeAlias

from tamis.model.values import Scalar


class Op(StrEnum):
    """Comparison operators, spelt as in the language."""

    __hash__ = str.__hash__  # an enumeration's own is slow, and operators are looked up everywhere

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    BETWEEN = "between"
    IN = "in"
    NOT_IN = "not in"
    EXISTS = "exists"
    MISSING = "missing"
    STARTS = "starts with"
    ENDS = "ends with"
    CONTAINS = "contains"
    LIKE = "like"
    MATCHES = "matches"


ORDER_OPS = frozenset({Op.LT, Op.LE, Op.GT, Op.GE, Op.BETWEEN})
PATTERN_OPS = frozenset({Op.STARTS, Op.ENDS, Op.CONTAINS, Op.LIKE, Op.MATCHES})
PRESENCE_OPS = frozenset({Op.EXISTS, Op.MISSING})


@dataclass(frozen=True, slots=True, eq=False)
class Predicate:
    """`attribute op values`: one value for most operators, two for `between`, any number for `in`, none for presence.

    `nocase` compares strings after case folding.
    """

    attribute: str
    op: Op
    values: tuple[Scalar, ...] = ()
    nocase: bool = False

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two predicates the same; keeps `1` and `true` apart, which Python does not."""
        values = tuple((isinstance(v, bool), v) for v in self.values)
        return self.attribute, self.op, values, self.nocase

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Predicate) and self.identity == other.identity)

    def __hash__(self) -> int:
        return hash((self.attribute, self.op, self.values, self.nocase))


@dataclass(frozen=True, slots=True)
class Variable:
    """`?name`, bound by an operator predicate."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class OperatorPredicate:
    """`name(arguments…)`: a user operator applied to the event; it may bind its variables."""

    name: str
    arguments: tuple[Scalar | Variable, ...] = ()

    @property
    def identity(self) -> tuple[object, ...]:
        """Name and arguments, with `1` and `true` kept apart."""
        return self.name, tuple((isinstance(a, bool), a) for a in self.arguments)

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables this predicate binds."""
        return frozenset(a.name for a in self.arguments if isinstance(a, Variable))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperatorPredicate) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left op right` over numbers and variables."""

    op: OneOf["+", "-", "*", "/"]
    left: "Term"
    right: "Term"


Term: TypeAlias = Scalar | Variable | Arithmetic


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """A comparison of terms with at least one variable, such as `?y > 2 * ?z`."""

    op: Op
    left: Term
    right: Term

    @property
    def identity(self) -> tuple[object, ...]:
        """Operator and sides, with `1` and `true` kept apart."""
        return self.op, isinstance(self.left, bool), self.left, isinstance(self.right, bool), self.right

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraint) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables the constraint reads."""
        return term_variables(self.left) | term_variables(self.right)


def term_variables(term: Term) -> frozenset[str]:
    """Names of the variables in a term; walks a stack of its own, since terms are measured only after they are read."""
    names: set[str] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, Variable):
            names.add(part.name)
        elif isinstance(part, Arithmetic):
            stack += part.left, part.right
    return frozenset(names)


Atom: TypeAlias = Predicate | OperatorPredicate | Constraint
