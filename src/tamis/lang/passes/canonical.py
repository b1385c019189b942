"""One spelling for each literal: no repeated members, no list or range of one value, no range of none."""

from tamis.lang.passes.terms import Verdict, per_literal, presence
from tamis.model.evaluate import at_most
from tamis.model.predicate import Op, Predicate
from tamis.model.schema import PublicationType
from tamis.model.subscription import Literal
from tamis.model.values import Scalar

SINGLE = {Op.IN: Op.EQ, Op.NOT_IN: Op.NE, Op.BETWEEN: Op.EQ}


def rewrite(literal: Literal, type: PublicationType | None) -> Verdict:
    """`in (x)` → `= x`; `between x and x` → `= x`; `between 2 and 1` → never (negated: `exists`)."""
    atom = literal.atom
    if not isinstance(atom, Predicate) or atom.op not in SINGLE:
        return literal
    values = distinct(atom.values)
    if atom.op is Op.BETWEEN and not atom.nocase and not at_most(*atom.values):
        return presence(atom, literal.negated)
    if len(values) == 1:
        return Literal(Predicate(atom.attribute, SINGLE[atom.op], values, atom.nocase), literal.negated)
    if len(values) == len(atom.values):
        return literal
    return Literal(Predicate(atom.attribute, atom.op, values, atom.nocase), literal.negated)


def distinct(values: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The values without repetitions, in their order."""
    return values if len(values) < 2 else tuple(identities(values).values())


def identities(values: tuple[Scalar, ...]) -> dict[tuple[bool, Scalar], Scalar]:
    """The values by what makes them the same: `true` is not 1, but 1.0 is."""
    found: dict[tuple[bool, Scalar], Scalar] = {}
    for value in values:
        found.setdefault((isinstance(value, bool), value), value)
    return found


canonical = per_literal(rewrite)
