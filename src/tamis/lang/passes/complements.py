"""Join conjunctions that differ in one literal and its opposite: `(p and q) or (p and not q)` is `p and exists(…)`."""

from tamis.lang.passes.masks import masks, numbered
from tamis.lang.passes.negation import opposite
from tamis.model.predicate import PRESENCE_OPS, Op, Predicate
from tamis.model.schema import PublicationType
from tamis.model.subscription import Conjunction, Dnf, Literal


def complements(dnf: Dnf, type: PublicationType | None) -> Dnf:
    """Join pairs until none is left; each join makes the disjunction one shorter."""
    if len(dnf) < 2:
        return dnf
    bits = numbered(dnf)
    opposites = {literal: complement(literal, type) for literal in bits}
    pivots = {literal: other for literal, other in opposites.items() if other is not None and other in bits}
    if not pivots:
        return dnf
    terms = masks(dnf, bits)
    waiting = list(terms)
    while waiting:  # a pair is found when the later of its two has its turn
        mask = waiting.pop()
        for literal in terms.get(mask, ()):
            partner = mask ^ bits[literal] | bits[pivots[literal]] if literal in pivots else mask
            if partner != mask and partner in terms:
                joined = without(literal, terms[mask])
                del terms[mask], terms[partner]
                union = 0
                for left in joined:
                    union |= bits.setdefault(left, 1 << len(bits))
                terms.setdefault(union, joined)
                waiting.append(union)
                break
    return tuple(terms.values())


def complement(literal: Literal, type: PublicationType | None) -> Literal | None:
    """The literal that holds exactly when the attribute is told and this one does not."""
    atom = literal.atom
    if not isinstance(atom, Predicate):
        return None  # an operator may fail, a variable may stay unbound: then neither side is true
    if literal.negated:
        return Literal(atom)
    turned = opposite(atom, type)
    return Literal(turned) if isinstance(turned, Predicate) else Literal(atom, negated=True)


def without(literal: Literal, term: Conjunction) -> Conjunction:
    """The conjunction with `q or not q` in the place of q: the attribute must be present, unless q asks for presence."""
    atom = literal.atom
    assert isinstance(atom, Predicate)
    rest = tuple(other for other in term if other != literal)
    told = any(isinstance(other.atom, Predicate) and other.atom.attribute == atom.attribute for other in rest)
    return rest if told or atom.op in PRESENCE_OPS else (*rest, Literal(Predicate(atom.attribute, Op.EXISTS)))
