"""Which predicates are well formed: the right number of values, of kinds the operator can compare."""

from typing import NamedTuple

from tamis.errors import FilterError, ParseError
from tamis.model.evaluate import regex
from tamis.model.predicate import ORDER_OPS, PATTERN_OPS, PRESENCE_OPS, Op, Predicate
from tamis.model.values import Kind, check_scalar, kind


class Complaint(NamedTuple):
    """What is wrong with a predicate, and with which of its values (None: with the predicate as a whole)."""

    message: str
    value: int | None = None


def complaint(predicate: Predicate) -> Complaint | None:
    """The first thing wrong with a predicate, or None if it is well formed."""
    op, values = predicate.op, predicate.values
    try:
        if not check_scalar(predicate.attribute, "an attribute name", FilterError):
            return Complaint("an attribute name is not empty")
        for value in values:
            check_scalar(value, f"{op} of attribute {predicate.attribute!r}", FilterError)
    except FilterError as problem:
        return Complaint(str(problem))
    wanted = 0 if op in PRESENCE_OPS else 2 if op is Op.BETWEEN else 1
    if len(values) != wanted and not (op in (Op.IN, Op.NOT_IN) and values):
        return Complaint(f"{op} takes {wanted} value{'s' * (wanted != 1)}, not {len(values)}")
    kinds = [kind(value) for value in values]
    if op in ORDER_OPS and Kind.BOOL in kinds:
        return Complaint("true and false have no order; compare them with = or !=", kinds.index(Kind.BOOL))
    if op is Op.BETWEEN and kinds[0] is not kinds[1]:
        return Complaint(f"between needs two values of one kind, not a {kinds[0].value} and a {kinds[1].value}", 1)
    if op in PATTERN_OPS and kinds[0] is not Kind.STRING:
        return Complaint(f"{op} needs a string, not the {kinds[0].value} {values[0]!r}", 0)
    if predicate.nocase and Kind.STRING not in kinds:
        return Complaint("nocase is about strings; there is none here")
    if op is Op.MATCHES:
        try:
            regex(str(values[0]), predicate.nocase)
        except ParseError as problem:
            return Complaint(problem.message, 0)
    return None


def check_predicate(predicate: Predicate) -> Predicate:
    """The predicate itself if it is well formed, or a FilterError."""
    problem = complaint(predicate)
    if problem is not None:
        raise FilterError(problem.message)
    return predicate
