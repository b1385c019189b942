"""What a condition may ask of operators; refusals at subscription time, before any event.

In each conjunction of the normal form: operators exist and take that many arguments; every variable of a constraint or of a
negated operator is bound by an operator that is not negated (`not p(?x)` alone would ask for the infinitely many values p does
not give); nothing is divided by a constant zero; input arguments of operators with outputs are constants.
"""

from tamis.errors import OperatorError
from tamis.model.predicate import Constraint, OperatorPredicate, Predicate, Variable
from tamis.model.subscription import Conjunction, Dnf
from tamis.operators.answer import input_arguments
from tamis.operators.constraints import constant_zero_division
from tamis.operators.identity import shown
from tamis.operators.registry import Registry


def needs_operators(term: Conjunction) -> bool:
    """Whether a conjunction holds anything but predicates on attributes."""
    return any(not isinstance(literal.atom, Predicate) for literal in term)


def check_operators(dnf: Dnf, registry: Registry) -> None:
    """Refuse what cannot be evaluated, naming it."""
    for term in dnf:
        bound: set[str] = set()
        for literal in term:
            if isinstance(literal.atom, OperatorPredicate):
                check_call(literal.atom, registry)
                if not literal.negated:
                    bound |= literal.atom.variables
        for literal in term:
            atom = literal.atom
            if isinstance(atom, Predicate) or (isinstance(atom, OperatorPredicate) and not literal.negated):
                continue
            if free := sorted(atom.variables - bound):
                raise OperatorError(unbound_message(atom, free[0]))
            if isinstance(atom, Constraint) and (
                constant_zero_division(atom.left) or constant_zero_division(atom.right)
            ):
                raise OperatorError(f"the constraint on ?{sorted(atom.variables)[0]} divides by zero")


def unbound_message(atom: OperatorPredicate | Constraint, name: str) -> str:
    """Why a free variable is refused, and what to do."""
    if isinstance(atom, Constraint):
        return f"the variable ?{name} of a constraint is not bound: use it in an operator of the same conjunction"
    return (
        f"not {shown(atom)}: a negated operator binds nothing, so ?{name} must be bound by another operator "
        "of the same conjunction"
    )


def check_call(predicate: OperatorPredicate, registry: Registry) -> None:
    """The operator exists and its arguments fit."""
    operator = registry.get(predicate.name)
    given = len(predicate.arguments)
    if given < operator.least or (operator.most is not None and given > operator.most):
        raise OperatorError(f"{shown(predicate)}: operator {predicate.name!r} takes {operator.arity}, not {given}")
    if operator.outputs is not None:
        for argument in predicate.arguments[: given - operator.outputs]:
            if isinstance(argument, Variable):
                where = predicate.arguments.index(argument) + 1
                raise OperatorError(
                    f"{shown(predicate)}: argument {where} of {predicate.name!r} is an input and must be a constant"
                )
    if operator.check is not None:
        operator.check(*input_arguments(operator, predicate))
