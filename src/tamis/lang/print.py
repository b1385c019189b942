"""Condition → text that parses back to an equal condition, with no more parentheses than needed."""

from tamis.lang.words import is_plain_name, write_name, write_scalar
from tamis.model.predicate import (
    PATTERN_OPS,
    PRESENCE_OPS,
    Arithmetic,
    Constraint,
    Op,
    OperatorPredicate,
    Predicate,
    Term,
    Variable,
)
from tamis.model.subscription import And, Constant, Dnf, Expression, Literal, Not, Or
from tamis.model.values import Scalar

INFIX_NOT = PATTERN_OPS | {Op.BETWEEN}


def show(expression: Expression) -> str:
    """The condition in the language."""
    if isinstance(expression, Or):
        return " or ".join(wrap(child, Or) for child in expression.children)
    if isinstance(expression, And):
        return " and ".join(wrap(child, And | Or) for child in expression.children)
    if isinstance(expression, Not):
        child = expression.child
        if isinstance(child, Predicate) and child.op in INFIX_NOT:
            return show_predicate(child, "not ")
        return "not " + wrap(child, And | Or)
    if isinstance(expression, Constant):
        return write_scalar(expression.value)
    if isinstance(expression, Predicate):
        return show_predicate(expression)
    if isinstance(expression, OperatorPredicate):
        return f"{write_name(expression.name)}({', '.join(map(show_argument, expression.arguments))})"
    return show_constraint(expression)


def show_dnf(dnf: Dnf) -> str:
    """A normal form as text with the same meaning."""
    return show(as_expression(dnf))


def as_expression(dnf: Dnf) -> Expression:
    """A normal form as a condition."""
    terms = [join(And, [as_condition(literal) for literal in term], empty=True) for term in dnf]
    return join(Or, terms, empty=False)


def as_condition(literal: Literal) -> Expression:
    """A literal as a condition."""
    return Not(literal.atom) if literal.negated else literal.atom


def join(node: type[And] | type[Or], children: list[Expression], empty: bool) -> Expression:
    """`node` over the children; over one child the child itself, over none a constant."""
    return Constant(empty) if not children else children[0] if len(children) == 1 else node(tuple(children))


def wrap(child: Expression, looser: object) -> str:
    """The child's text, in parentheses if it binds no tighter than where it stands."""
    text = show(child)
    return f"({text})" if isinstance(child, looser) else text  # type: ignore[arg-type]


def show_predicate(predicate: Predicate, negation: str = "") -> str:
    """`attribute [not] operator values [nocase]`."""
    name, op, values = write_name(predicate.attribute), predicate.op, [write_scalar(v) for v in predicate.values]
    if op in PRESENCE_OPS:
        return f"{op}({name})"
    if op in (Op.IN, Op.NOT_IN):
        operand = f"({', '.join(values)})"
    else:
        operand = " and ".join(values)
    return f"{name} {negation}{op} {operand}" + " nocase" * predicate.nocase


def show_argument(argument: Scalar | Variable) -> str:
    """An operator's argument; plain words stand without quotes."""
    if isinstance(argument, Variable):
        return "?" + argument.name
    return argument if isinstance(argument, str) and is_plain_name(argument) else write_scalar(argument)


def show_constraint(constraint: Constraint) -> str:
    """`term operator term`."""
    return f"{show_term(constraint.left)} {constraint.op} {show_term(constraint.right)}"


def show_term(term: Term) -> str:
    """A side of a constraint; arithmetic groups to the left."""
    if isinstance(term, Variable):
        return "?" + term.name
    if not isinstance(term, Arithmetic):
        return write_scalar(term)
    level = binding(term)
    left, right = show_term(term.left), show_term(term.right)
    left = f"({left})" if binding(term.left) < level else left
    right = f"({right})" if binding(term.right) <= level else right
    return f"{left} {term.op} {right}"


def binding(term: Term) -> int:
    """How tightly a term binds."""
    return 3 if not isinstance(term, Arithmetic) else 1 if term.op in "+-" else 2
