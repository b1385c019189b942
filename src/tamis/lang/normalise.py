"""Condition → simplified disjunctive normal form, the form every engine takes."""

from tamis.lang.passes.dnf import expand
from tamis.lang.passes.negation import push_down
from tamis.lang.passes.order import ORDER
from tamis.lang.passes.terms import Pass
from tamis.lang.size import check_size
from tamis.model.limits import Limits
from tamis.model.schema import PublicationType
from tamis.model.subscription import Dnf, Expression


def normalise(expression: Expression, type: PublicationType | None = None, limits: Limits = Limits()) -> Dnf:
    """The normal form; under a `type` (bind first) it may lean on what events of that type cannot carry."""
    check_size(expression, limits)
    return simplify(expand(push_down(expression, type), limits), type)


def simplify(dnf: Dnf, type: PublicationType | None, passes: tuple[Pass, ...] = ORDER) -> Dnf:
    """Run the rewrites in order."""
    for rewrite in passes:
        dnf = rewrite(dnf, type)
    return dnf
