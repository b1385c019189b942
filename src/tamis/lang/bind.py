"""Bind a condition to a publication type: attributes exist, constants belong to their domains, operators fit their kinds."""

from collections.abc import Callable
from dataclasses import replace

from tamis.errors import BindError
from tamis.lang.size import check_size
from tamis.model.evaluate import fold
from tamis.model.limits import Limits
from tamis.model.predicate import ORDER_OPS, PATTERN_OPS, PRESENCE_OPS, Atom, Predicate
from tamis.model.schema import Attribute, EnumDomain, PublicationType, admit, domain_kind
from tamis.model.subscription import And, Constant, Expression, Not, Or
from tamis.model.values import Kind, Scalar


def bind(expression: Expression, type: PublicationType, limits: Limits = Limits()) -> Expression:
    """The condition with its constants in the form their domains store (timestamps as numbers), or a BindError."""
    check_size(expression, limits)
    return map_atoms(expression, lambda atom: bind_atom(atom, type))


def map_atoms(expression: Expression, change: Callable[[Atom], Atom]) -> Expression:
    """The same condition over changed atoms; its size must have been checked."""
    if isinstance(expression, And | Or):
        return expression.__class__(tuple(map_atoms(child, change) for child in expression.children))
    if isinstance(expression, Not):
        return Not(map_atoms(expression.child, change))
    return expression if isinstance(expression, Constant) else change(expression)


def bind_atom(atom: Atom, type: PublicationType) -> Atom:
    """One atom bound; operators and variables are not the type's business."""
    if not isinstance(atom, Predicate):
        return atom
    attribute = type.attribute(atom.attribute)
    if atom.op in PRESENCE_OPS:
        return atom
    check_kinds(atom, attribute)
    if atom.op in PATTERN_OPS:
        return atom
    values = tuple(bind_value(value, atom, attribute) for value in atom.values)
    return (
        atom if values == atom.values and all(map(is_same_type, values, atom.values)) else replace(atom, values=values)
    )


def check_kinds(predicate: Predicate, attribute: Attribute) -> None:
    """Refuse an operator that the attribute's domain cannot answer."""
    kind = domain_kind(attribute.domain)
    needs_strings = predicate.op in PATTERN_OPS or predicate.nocase
    if needs_strings and kind not in (Kind.STRING, None):
        what = "nocase" if predicate.op not in PATTERN_OPS else predicate.op
        raise BindError(f"attribute {attribute.name!r}: {what} needs strings, but its domain is {attribute.domain}")
    if predicate.op in ORDER_OPS and kind is Kind.BOOL:
        raise BindError(
            f"attribute {attribute.name!r}: {predicate.op} needs an order, but its domain is {attribute.domain}"
        )


def bind_value(value: Scalar, predicate: Predicate, attribute: Attribute) -> Scalar:
    """A constant in its domain's form; under nocase any spelling of a member will do."""
    domain = attribute.domain
    if predicate.nocase and isinstance(domain, EnumDomain) and fold(value) in map(fold, domain.values):
        return value
    return admit(attribute, value, BindError)


def is_same_type(left: Scalar, right: Scalar) -> bool:
    """Whether two equal scalars are also spelt alike (1 and 1.0 are not)."""
    return left.__class__ is right.__class__
