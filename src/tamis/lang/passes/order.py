"""The order in which the rewrites of a normal form run."""

from tamis.lang.passes.absorption import absorption
from tamis.lang.passes.canonical import canonical
from tamis.lang.passes.complements import complements
from tamis.lang.passes.domains import domains
from tamis.lang.passes.implied import implied
from tamis.lang.passes.scalars import scalars
from tamis.lang.passes.terms import Pass

ORDER: tuple[Pass, ...] = (
    canonical,
    domains,
    implied,
    scalars,
    complements,
    absorption,
)
