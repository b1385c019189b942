"""Conditions from Python expressions: `attr("price") < 300`, joined with `&`, `|` and `~`.

The result is the same model the parser gives: `(attr("price") < 300) & attr("brand").isin("Sony", "Leica")` equals
`price < 300 and brand in ('Sony', 'Leica')`. Python gives `&` and `|` a higher rank than comparisons: use parentheses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import NoReturn

from tamis.errors import FilterError
from tamis.model.check import check_predicate
from tamis.model.predicate import Arithmetic, Constraint, Op, OperatorPredicate, Predicate, Term, Variable
from tamis.model.subscription import And, Expression, Not, Or
from tamis.model.values import Scalar, check_scalar


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition under construction; `expression` is the model."""

    expression: Expression

    def __and__(self, other: Condition) -> Condition:
        return Condition(And((*flat(self, And), *flat(other, And))))

    def __or__(self, other: Condition) -> Condition:
        return Condition(Or((*flat(self, Or), *flat(other, Or))))

    def __invert__(self) -> Condition:
        return Condition(Not(self.expression))

    def __bool__(self) -> NoReturn:
        raise FilterError("join conditions with &, | and ~, and put comparisons into parentheses")


def flat(condition: Condition, node: type[And] | type[Or]) -> tuple[Expression, ...]:
    """The operands a condition brings into an `&` or `|` chain."""
    if not isinstance(condition, Condition):
        raise FilterError(
            f"& and | join conditions, not {condition.__class__.__name__}; put comparisons into parentheses"
        )
    inner = condition.expression
    return inner.children if isinstance(inner, And | Or) and isinstance(inner, node) else (inner,)


class Attribute:
    """A named attribute; comparing it gives a `Condition`. With `nocase` strings compare without regard to case."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, nocase: bool = False) -> None:
        self.name, self.ignores_case = name, nocase

    def nocase(self) -> Attribute:
        """The same attribute, compared without regard to case."""
        return Attribute(self.name, nocase=True)

    def _predicate(self, op: Op, *values: Scalar) -> Condition:
        checked = tuple(check_scalar(value, f"attribute {self.name!r}", FilterError) for value in values)
        nocase = self.ignores_case and op not in (Op.EXISTS, Op.MISSING)
        return Condition(check_predicate(Predicate(self.name, op, checked, nocase)))

    def __eq__(self, value: Scalar) -> Condition:  # type: ignore[override]
        return self._predicate(Op.EQ, value)

    def __ne__(self, value: Scalar) -> Condition:  # type: ignore[override]
        return self._predicate(Op.NE, value)

    def __lt__(self, value: Scalar) -> Condition:
        return self._predicate(Op.LT, value)

    def __le__(self, value: Scalar) -> Condition:
        return self._predicate(Op.LE, value)

    def __gt__(self, value: Scalar) -> Condition:
        return self._predicate(Op.GT, value)

    def __ge__(self, value: Scalar) -> Condition:
        return self._predicate(Op.GE, value)

    def between(self, low: Scalar, high: Scalar) -> Condition:
        """`low <= value <= high`."""
        return self._predicate(Op.BETWEEN, low, high)

    def isin(self, *values: Scalar) -> Condition:
        """Some value is one of these."""
        return self._predicate(Op.IN, *values)

    def notin(self, *values: Scalar) -> Condition:
        """Some value is none of these; `~attr(…).isin(…)` says that no value is one of them."""
        return self._predicate(Op.NOT_IN, *values)

    def exists(self) -> Condition:
        """The attribute is present."""
        return self._predicate(Op.EXISTS)

    def missing(self) -> Condition:
        """The attribute is absent."""
        return self._predicate(Op.MISSING)

    def startswith(self, prefix: str) -> Condition:
        """The text begins with `prefix`."""
        return self._predicate(Op.STARTS, prefix)

    def endswith(self, suffix: str) -> Condition:
        """The text ends with `suffix`."""
        return self._predicate(Op.ENDS, suffix)

    def contains(self, part: str) -> Condition:
        """The text has `part` in it."""
        return self._predicate(Op.CONTAINS, part)

    def like(self, pattern: str) -> Condition:
        """SQL's LIKE: `%` any run, `_` one character."""
        return self._predicate(Op.LIKE, pattern)

    def matches(self, pattern: str) -> Condition:
        """An RE2 regular expression is found somewhere in the text."""
        return self._predicate(Op.MATCHES, pattern)


def attr(name: str) -> Attribute:
    """An attribute by its (dotted) name."""
    return Attribute(name)


class Value:
    """A variable, or arithmetic over variables and numbers; comparing it gives a constraint."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Term) -> None:
        self.term = term

    def __add__(self, other: Value | float) -> Value:
        return arithmetic("+", self, other)

    def __radd__(self, other: float) -> Value:
        return arithmetic("+", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return arithmetic("-", self, other)

    def __rsub__(self, other: float) -> Value:
        return arithmetic("-", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return arithmetic("*", self, other)

    def __rmul__(self, other: float) -> Value:
        return arithmetic("*", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return arithmetic("/", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return arithmetic("/", other, self)

    def __eq__(self, other: Value | Scalar) -> Condition:  # type: ignore[override]
        return constraint(Op.EQ, self, other)

    def __ne__(self, other: Value | Scalar) -> Condition:  # type: ignore[override]
        return constraint(Op.NE, self, other)

    def __lt__(self, other: Value | Scalar) -> Condition:
        return constraint(Op.LT, self, other)

    def __le__(self, other: Value | Scalar) -> Condition:
        return constraint(Op.LE, self, other)

    def __gt__(self, other: Value | Scalar) -> Condition:
        return constraint(Op.GT, self, other)

    def __ge__(self, other: Value | Scalar) -> Condition:
        return constraint(Op.GE, self, other)


def arithmetic(op: OneOf["+", "-", "*", "/"], left: Value | float, right: Value | float) -> Value:
    """`left op right` over numbers and variables."""
    sides = as_term(left), as_term(right)
    if any(isinstance(side, bool | str) for side in sides):
        raise FilterError(f"{op} takes numbers and variables")
    return Value(Arithmetic(op, *sides))


def constraint(op: Op, left: Value, right: Value | Scalar) -> Condition:
    """A comparison of terms."""
    return Condition(Constraint(op, as_term(left), as_term(right)))


def as_term(side: Value | Scalar) -> Term:
    """What a side stands for in the model."""
    return side.term if isinstance(side, Value) else check_scalar(side, "a constraint", FilterError)


def var(name: str) -> Value:
    """A variable that an operator binds: `var("x")` is `?x`."""
    return Value(Variable(name))


def call(operator: str, *arguments: Value | Scalar) -> Condition:
    """A user operator: `call("locIn", "Bronx")`, `call("pedestrianCount", var("ped"))`."""
    terms = tuple(as_term(argument) for argument in arguments)
    if any(isinstance(term, Arithmetic) for term in terms):
        raise FilterError(f"{operator}: an argument is a constant or a variable")
    return Condition(OperatorPredicate(operator, terms))  # type: ignore[arg-type]
