"""Value constraints: comparisons of arithmetic over variables, under one substitution.

Arithmetic that has no answer (division by zero, a string in a sum, a result beyond the finite numbers) makes the
constraint unknown, and unknown satisfies neither the constraint nor its negation. Integers stay exact, also when a
division comes out even.
"""

import math
from collections.abc import Mapping

from tamis.model.evaluate import Truth, satisfies
from tamis.model.predicate import Arithmetic, Constraint, Predicate, Term, Variable
from tamis.model.values import Scalar


class NoAnswer(Exception):
    """A term has no value under this substitution."""


def value_of(term: Term, substitution: Mapping[str, Scalar]) -> Scalar:
    """The value of a term, or NoAnswer."""
    if isinstance(term, Variable):
        return substitution[term.name]
    if not isinstance(term, Arithmetic):
        return term
    left, right = value_of(term.left, substitution), value_of(term.right, substitution)
    if isinstance(left, (bool, str)) or isinstance(right, (bool, str)):
        raise NoAnswer(f"{left!r} {term.op} {right!r} is not arithmetic on numbers")
    try:
        result = compute(term.op, left, right)
    except ZeroDivisionError:
        raise NoAnswer(f"{left!r} / 0 has no value") from None
    except OverflowError:
        raise NoAnswer(f"{left!r} {term.op} {right!r} is beyond the finite numbers") from None
    if not math.isfinite(result):
        raise NoAnswer(f"{left!r} {term.op} {right!r} is beyond the finite numbers")
    return result


def compute(op: str, left: int | float, right: int | float) -> int | float:
    """One operation on numbers, exact on integers."""
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        return left * right
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def constraint_holds(constraint: Constraint, substitution: Mapping[str, Scalar]) -> Truth:
    """True, False, or None where its arithmetic has no answer."""
    try:
        left, right = value_of(constraint.left, substitution), value_of(constraint.right, substitution)
    except NoAnswer:
        return None
    return satisfies(Predicate("", constraint.op, (right,)), left)


def constant_zero_division(term: Term) -> bool:
    """Whether a term divides by something that is zero whatever the variables are."""
    if not isinstance(term, Arithmetic):
        return False
    if constant_zero_division(term.left) or constant_zero_division(term.right):
        return True
    if term.op != "/":
        return False
    try:
        return value_of(term.right, {}) == 0
    except (KeyError, NoAnswer):
        return False
