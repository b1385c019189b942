"""Under a type: a literal that holds for every value of its domain asks for presence alone, one that holds for none is false."""

from tamis.lang.passes.implied import bounds
from tamis.lang.passes.terms import Verdict, per_literal, presence
from tamis.model.evaluate import satisfies
from tamis.model.predicate import ORDER_OPS, PRESENCE_OPS, Predicate
from tamis.model.schema import Domain, EnumDomain, IntDomain, PublicationType
from tamis.model.subscription import Literal
from tamis.model.values import INT64_MAX, INT64_MIN, Scalar


def rewrite(literal: Literal, type: PublicationType | None) -> Verdict:
    """`a >= 0` on int[0..100] → `exists(a)`; `a < 0` → never; negated the other way round. Holds for lists too."""
    atom = literal.atom
    if (
        type is None
        or not isinstance(atom, Predicate)
        or atom.op in PRESENCE_OPS
        or atom.attribute not in type.attributes
    ):
        return literal
    outcome = coverage(atom, type.attributes[atom.attribute].domain)
    return literal if outcome is None else presence(atom, outcome is not literal.negated)


def coverage(predicate: Predicate, domain: Domain) -> bool | None:
    """True if every value of the domain satisfies the predicate, False if none does, None if some or unknown."""
    values = members(domain)
    if values is not None:
        outcomes = {satisfies(predicate, value) for value in values}
        return outcomes.pop() if len(outcomes) == 1 else None
    span = integers(domain)
    if span is None or predicate.op not in ORDER_OPS or predicate.nocase:
        return None
    # Bounds cut out one run of values: with both ends of the domain inside, all of it is inside.
    lowest, highest = (satisfies(predicate, end) for end in span)
    if lowest and highest:
        return True
    if lowest or highest or all(bounds(predicate)):
        return None
    return False


def members(domain: Domain) -> tuple[Scalar, ...] | None:
    """All values of a small domain."""
    if isinstance(domain, EnumDomain):
        return domain.values
    return (False, True) if not isinstance(domain, IntDomain) and domain.name == "bool" else None


def integers(domain: Domain) -> tuple[int, int] | None:
    """Both ends of a domain of integers; a timestamp is stored as one."""
    if isinstance(domain, IntDomain):
        return domain.lo, domain.hi
    return (INT64_MIN, INT64_MAX) if not isinstance(domain, EnumDomain) and domain.name == "timestamp" else None


domains = per_literal(rewrite)
