"""Whatever states a condition, as the model: text, the builder's result, or the model itself."""

from typing import TypeAlias

from tamis.errors import FilterError
from tamis.lang.build import Condition
from tamis.lang.parse import parse
from tamis.lang.size import check_size
from tamis.model.check import check_predicate
from tamis.model.limits import Limits
from tamis.model.predicate import Constraint, OperatorPredicate, Predicate
from tamis.model.subscription import And, Constant, Expression, Not, Or

Filter: TypeAlias = str | Condition | Expression


def expression_of(filter: Filter, limits: Limits = Limits()) -> Expression:
    """The condition a filter states: within the limits, and well formed even if it was put together by hand."""
    if isinstance(filter, str):
        return parse(filter, limits)
    expression = filter.expression if isinstance(filter, Condition) else filter
    check_size(expression, limits)
    check_nodes(expression)
    return expression


def check_nodes(expression: Expression) -> None:
    """Refuse what the parser could not have made; the size must have been checked."""
    if isinstance(expression, And | Or):
        if len(expression.children) < 2:
            raise FilterError(f"{expression.__class__.__name__} joins two or more conditions")
        for child in expression.children:
            check_nodes(child)
    elif isinstance(expression, Not):
        check_nodes(expression.child)
    elif isinstance(expression, Predicate):
        check_predicate(expression)
    elif not isinstance(expression, Constant | OperatorPredicate | Constraint):
        raise FilterError(f"a filter is text or a condition, not {expression.__class__.__name__}")
