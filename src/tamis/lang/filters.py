"""Whatever states a condition, as the model: text, the builder's result, or the model itself."""

from typing import TypeAlias

from tamis.errors import FilterError
from tamis.lang.build import Condition
from tamis.lang.parse import parse
from tamis.lang.size import check_size
from tamis.model.limits import Limits
from tamis.model.predicate import Constraint, OperatorPredicate, Predicate
from tamis.model.subscription import And, Constant, Expression, Not, Or

Filter: TypeAlias = str | Condition | Expression


def expression_of(filter: Filter, limits: Limits = Limits()) -> Expression:
    """The condition a filter states, within the limits."""
    if isinstance(filter, str):
        return parse(filter, limits)
    expression = filter.expression if isinstance(filter, Condition) else filter
    if not isinstance(expression, And | Or | Not | Constant | Predicate | OperatorPredicate | Constraint):
        raise FilterError(f"a filter is text or a condition, not {expression.__class__.__name__}")
    check_size(expression, limits)
    return expression
