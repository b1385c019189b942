"""Join conjunctions that differ in one literal and its opposite: `(p and q) or (p and not q)` is `p`, if q can be told."""

from collections.abc import Mapping

from tamis.lang.passes.negation import opposite
from tamis.model.predicate import PRESENCE_OPS, Op, Predicate
from tamis.model.schema import PublicationType
from tamis.model.subscription import Conjunction, Dnf, Literal


def complements(dnf: Dnf, type: PublicationType | None) -> Dnf:
    """Join pairs until none is left; each join makes the disjunction one shorter."""
    if len(dnf) < 2:
        return dnf
    literals = dict.fromkeys(literal for term in dnf for literal in term)
    opposites = {literal: complement(literal, type) for literal in literals}
    pivots = {literal: other for literal, other in opposites.items() if other is not None and other in opposites}
    if not pivots:
        return dnf
    terms = {frozenset(term): term for term in dnf}
    while join_one(terms, pivots):
        pass
    return tuple(terms.values())


def join_one(terms: dict[frozenset[Literal], Conjunction], pivots: Mapping[Literal, Literal]) -> bool:
    """Join the first pair that can be joined, in place; False if there is none."""
    for literals, term in terms.items():
        for literal in term:
            if literal in pivots and (partner := literals - {literal} | {pivots[literal]}) in terms:
                joined = tuple(other for other in term if other != literal) + remainder(literal)
                del terms[literals], terms[partner]
                terms[frozenset(joined)] = joined
                return True
    return False


def complement(literal: Literal, type: PublicationType | None) -> Literal | None:
    """The literal that holds exactly when the attribute is told and this one does not."""
    atom = literal.atom
    if not isinstance(atom, Predicate):
        return None  # an operator may fail, a variable may stay unbound: then neither side is true
    if literal.negated:
        return Literal(atom)
    turned = opposite(atom, type)
    return Literal(turned) if isinstance(turned, Predicate) else Literal(atom, negated=True)


def remainder(literal: Literal) -> Conjunction:
    """What `q or not q` still asks: that the attribute is present; nothing if q itself is about presence."""
    atom = literal.atom
    assert isinstance(atom, Predicate)
    return () if atom.op in PRESENCE_OPS else (Literal(Predicate(atom.attribute, Op.EXISTS)),)
