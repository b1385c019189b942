"""Drop a conjunction that another one implies: `p or (p and q)` is `p`. Covers repeated conjunctions."""

from tamis.lang.passes.masks import masks
from tamis.model.schema import PublicationType
from tamis.model.subscription import Dnf


def absorption(dnf: Dnf, type: PublicationType | None) -> Dnf:
    """Of two conjunctions where one has all literals of the other, keep the shorter; of equal ones, the first."""
    if len(dnf) < 2:
        return dnf
    terms = masks(dnf)
    return tuple(
        term for mask, term in terms.items() if not any(other & mask == other and other != mask for other in terms)
    )
