"""What an operator returned, made sense of: a truth value, and rows for the predicate's variables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tamis.errors import OperatorError
from tamis.model.predicate import OperatorPredicate, Variable
from tamis.model.values import Scalar, check_scalar, same
from tamis.operators.bindings import Row, key
from tamis.operators.registry import Operator


@dataclass(frozen=True, slots=True)
class Answer:
    """Truth (None: unknown) and, for a predicate with variables, its rows; `problem` says why it is unknown.

    `problem` stays empty when the event merely lacked an attribute.
    """

    truth: bool | None
    rows: Sequence[Row] = field(default=())
    problem: str = ""


def input_arguments(operator: Operator, predicate: OperatorPredicate) -> tuple[Scalar | Variable, ...]:
    """The arguments the function is given."""
    if operator.outputs is None:
        return predicate.arguments
    return predicate.arguments[: len(predicate.arguments) - operator.outputs]


def interpret(operator: Operator, predicate: OperatorPredicate, returned: object) -> Answer:
    """An Answer from what the function returned, or an OperatorError if it makes no sense."""
    if operator.outputs is not None:
        pattern: tuple[Scalar | Variable, ...] = predicate.arguments[len(predicate.arguments) - operator.outputs :]
        rows = project(pattern, table(operator, returned, operator.outputs))
        return Answer(bool(rows), rows)
    variables = tuple(Variable(str(i)) for i in range(len(predicate.variables)))
    if isinstance(returned, bool):
        if returned and variables:
            raise OperatorError("it answered true but gave its variables no values")
        return Answer(returned)
    if not variables:
        raise OperatorError(f"it answered {returned.__class__.__name__}, not true or false")
    rows = project(variables, table(operator, returned, len(variables)))
    return Answer(bool(rows), rows)


def table(operator: Operator, returned: object, width: int) -> list[Row]:
    """The rows a function returned: one value, one tuple, or an iterable of them; each of the right width and scalar."""
    if returned is None or returned is False:
        return []
    row_alone = isinstance(returned, tuple) and len(returned) == width and not isinstance(returned[0], tuple)
    if row_alone or isinstance(returned, (bool, int, float, str)):
        returned = [returned]
    if not isinstance(returned, Iterable):
        raise OperatorError(f"it answered {returned.__class__.__name__}, not values for its variables")
    rows: list[Row] = []
    for item in returned:
        row = tuple(item) if isinstance(item, (tuple, list)) else (item,)
        if len(row) != width:
            raise OperatorError(f"it gave {len(row)} values where {width} are expected")
        rows.append(tuple(check_scalar(value, "a binding", OperatorError) for value in row))
        if len(rows) > operator.bindings:
            raise OperatorError(f"it gave more rows than bindings = {operator.bindings:,}")
    return rows


def project(pattern: tuple[Scalar | Variable, ...], rows: Iterable[Row]) -> list[Row]:
    """Rows that agree with the pattern's constants and repeated variables, as values of its distinct variables."""
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        bound: dict[str, Scalar] = {}
        for expected, value in zip(pattern, row, strict=True):
            known = bound.setdefault(expected.name, value) if isinstance(expected, Variable) else expected
            if not same(known, value):
                break
        else:
            values = tuple(bound.values())
            found.setdefault(key(values), values)
    return list(found.values())
