"""Multiply a condition out into a disjunction of conjunctions, after counting how many there will be."""

from itertools import chain, product
from math import prod

from tamis.errors import LimitError
from tamis.model.limits import Limits
from tamis.model.subscription import And, Constant, Dnf, Expression, Literal, Not, Or


def expand(expression: Expression, limits: Limits) -> Dnf:
    """The normal form of a condition whose negations stand at its atoms; LimitError `terms` before any work is done."""
    found = count(expression)
    if found > limits.terms:
        raise LimitError("terms", limits.terms, found)
    return multiply(expression)


def count(expression: Expression) -> int:
    """Number of conjunctions `multiply` would make."""
    if isinstance(expression, And):
        return prod(count(child) for child in expression.children)
    if isinstance(expression, Or):
        return sum(count(child) for child in expression.children)
    return int(expression.value) if isinstance(expression, Constant) else 1


def multiply(expression: Expression) -> Dnf:
    """The normal form, unsimplified."""
    if isinstance(expression, Or):
        return tuple(chain.from_iterable(multiply(child) for child in expression.children))
    if isinstance(expression, And):
        choices = product(*(multiply(child) for child in expression.children))
        return tuple(tuple(chain.from_iterable(choice)) for choice in choices)
    if isinstance(expression, Constant):
        return ((),) if expression.value else ()
    if isinstance(expression, Not):
        assert not isinstance(expression.child, Not | And | Or | Constant), "negation is pushed down first"
        return ((Literal(expression.child, negated=True),),)
    return ((Literal(expression),),)
