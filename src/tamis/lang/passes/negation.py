"""Push negation down to the atoms (Kleene's logic obeys De Morgan's laws)."""

from tamis.model.predicate import ORDER_OPS, Atom, Op, Predicate
from tamis.model.schema import PublicationType, domain_kind
from tamis.model.subscription import And, Constant, Expression, Not, Or
from tamis.model.values import kind

PRESENCE = {Op.EXISTS: Op.MISSING, Op.MISSING: Op.EXISTS}
OPPOSITE = {
    Op.EQ: Op.NE,
    Op.NE: Op.EQ,
    Op.IN: Op.NOT_IN,
    Op.NOT_IN: Op.IN,
    Op.LT: Op.GE,
    Op.GE: Op.LT,
    Op.GT: Op.LE,
    Op.LE: Op.GT,
}


def push_down(expression: Expression, type: PublicationType | None, negated: bool = False) -> Expression:
    """The same condition with `Not` only directly above an atom."""
    if isinstance(expression, Not):
        return push_down(expression.child, type, not negated)
    if isinstance(expression, Constant):
        return Constant(expression.value is not negated)
    if isinstance(expression, And | Or):
        node = And if isinstance(expression, And) is not negated else Or
        return node(tuple(push_down(child, type, negated) for child in expression.children))
    return opposite(expression, type) if negated else expression


def opposite(atom: Atom, type: PublicationType | None) -> Expression:
    """The negation of an atom, without `Not` where an operator says the same."""
    if not isinstance(atom, Predicate):
        return Not(atom)
    if atom.op in PRESENCE:
        return Predicate(atom.attribute, PRESENCE[atom.op])
    if atom.op in OPPOSITE and one_value_decides(atom, type):
        return Predicate(atom.attribute, OPPOSITE[atom.op], atom.values, atom.nocase)
    return Not(atom)


def one_value_decides(predicate: Predicate, type: PublicationType | None) -> bool:
    """Whether the opposite operator is the negation: the attribute holds one value, and it compares with the constant.

    On a list, `not (a = 5)` says that no value is 5, `a != 5` that some value is not. On another kind, neither `a < 5` nor
    `a >= 5` holds.
    """
    declared = None if type is None else type.attributes.get(predicate.attribute)
    if declared is None or declared.many:
        return False
    return predicate.op not in ORDER_OPS or kind(predicate.values[0]) is domain_kind(declared.domain)
