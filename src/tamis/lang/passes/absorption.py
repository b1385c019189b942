"""Drop a conjunction that another one implies: `p or (p and q)` is `p`. Covers repeated conjunctions."""

from tamis.model.schema import PublicationType
from tamis.model.subscription import Dnf


def absorption(dnf: Dnf, type: PublicationType | None) -> Dnf:
    """Of two conjunctions where one has all literals of the other, keep the shorter; of equal ones, the first."""
    if len(dnf) < 2:
        return dnf
    sets = [frozenset(term) for term in dnf]
    distinct = dict.fromkeys(sets)
    first = {literals: i for i, literals in reversed(list(enumerate(sets)))}
    kept = (literals for literals in distinct if not any(other < literals for other in distinct))
    return tuple(dnf[first[literals]] for literals in kept)
