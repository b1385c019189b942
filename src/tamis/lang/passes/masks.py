"""A normal form as bit masks over its distinct literals, for passes that compare many conjunctions as sets."""

from tamis.model.subscription import Conjunction, Dnf, Literal


def numbered(dnf: Dnf) -> dict[Literal, int]:
    """A bit for each distinct literal."""
    distinct = dict.fromkeys(literal for term in dnf for literal in term)
    return {literal: 1 << place for place, literal in enumerate(distinct)}


def masks(dnf: Dnf, bits: dict[Literal, int] | None = None) -> dict[int, Conjunction]:
    """Each distinct set of literals as the union of their bits → the first conjunction that has it."""
    bits = numbered(dnf) if bits is None else bits
    terms: dict[int, Conjunction] = {}
    for term in dnf:
        mask = 0
        for literal in term:
            mask |= bits[literal]
        terms.setdefault(mask, term)
    return terms
