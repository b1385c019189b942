"""Within a conjunction, drop what another literal implies and find what another contradicts.

Safe for lists: only whole sets of values are compared (see the package's docstring). Covers duplicates, `p and not p`,
lower bounds with lower bounds, upper with upper, and constants tested by other predicates.
"""

from collections.abc import Callable

from tamis.lang.passes.terms import per_term
from tamis.model.evaluate import satisfies
from tamis.model.predicate import Op, Predicate
from tamis.model.schema import PublicationType
from tamis.model.subscription import Conjunction, Literal
from tamis.model.values import Scalar, less, same

PRESENCE = (Op.EXISTS, Op.MISSING)
LOWER = {Op.GT: True, Op.GE: False}
UPPER = {Op.LT: True, Op.LE: False}


def rewrite(term: Conjunction, type: PublicationType | None) -> Conjunction | None:
    """The conjunction without implied literals, or None if two literals exclude each other."""
    literals = tuple(dict.fromkeys(term))
    if len(literals) == 1:
        return literals
    groups: dict[object, list[Literal]] = {}
    for literal in literals:
        key = literal.atom.attribute if isinstance(literal.atom, Predicate) else (literal.atom,)
        groups.setdefault(key, []).append(literal)
    dropped: set[Literal] = set()
    for group in groups.values():
        if len(group) > 1 and not settle(group, dropped):
            return None
    return tuple(literal for literal in literals if literal not in dropped) if dropped else literals


def settle(group: list[Literal], dropped: set[Literal]) -> bool:
    """Compare the literals on one attribute pairwise; False if two exclude each other."""
    for i, left in enumerate(group):
        for right in group[i + 1 :]:
            if excludes(left, right) or excludes(right, left):
                return False
            if left not in dropped and right not in dropped:
                if implies(left, right):
                    dropped.add(right)
                elif implies(right, left):
                    dropped.add(left)
    return True


def excludes(left: Literal, right: Literal) -> bool:
    """Whether `left` being true keeps `right` from being true."""
    if isinstance(left.atom, Predicate) and isinstance(right.atom, Predicate):
        if left.atom.op is Op.MISSING:
            return right.atom.op is not Op.MISSING
        return not left.negated and right.negated and within(left.atom, right.atom)
    return left.atom == right.atom and left.negated is not right.negated


def implies(left: Literal, right: Literal) -> bool:
    """Whether `right` is true whenever `left` is."""
    if not isinstance(left.atom, Predicate) or not isinstance(right.atom, Predicate):
        return False
    if right.atom.op is Op.EXISTS:
        return left.atom.op is not Op.MISSING
    if left.negated is not right.negated:
        return False
    return within(right.atom, left.atom) if left.negated else within(left.atom, right.atom)


def within(inner: Predicate, outer: Predicate) -> bool:
    """Whether every value that satisfies `inner` satisfies `outer`; says no when in doubt."""
    if inner == outer:
        return True
    if inner.op in PRESENCE or outer.op in PRESENCE or inner.nocase:
        return False
    if inner.op is Op.EQ or inner.op is Op.IN:
        return all(satisfies(outer, value) for value in inner.values)
    if outer.nocase:
        return False
    inner_low, inner_high = bounds(inner)
    outer_low, outer_high = bounds(outer)
    if outer_low is None and outer_high is None:
        return False
    low_fits = outer_low is None or (inner_low is not None and reaches(outer_low, inner_low, less))
    high_fits = outer_high is None or (inner_high is not None and reaches(outer_high, inner_high, greater))
    return low_fits and high_fits


def related(one: Predicate, other: Predicate) -> bool:
    """Whether, for predicates on one attribute that differ, `within` could depend on their constants."""
    if one.op in PRESENCE or other.op in PRESENCE:
        return False
    if any(p.op in (Op.EQ, Op.IN) and not p.nocase for p in (one, other)):
        return not (one.op is other.op is Op.EQ and one.nocase is other.nocase)  # different constants: apart for good
    if one.nocase or other.nocase:
        return False
    return bool(sides(one) & sides(other))


def sides(predicate: Predicate) -> set[str]:
    """On which sides the predicate bounds its values."""
    bounded = {Op.BETWEEN: {"low", "high"}, Op.GT: {"low"}, Op.GE: {"low"}, Op.LT: {"high"}, Op.LE: {"high"}}
    return bounded.get(predicate.op, set())


Bound = tuple[Scalar, bool] | None
"""A constant and whether it is itself left out."""


def bounds(predicate: Predicate) -> tuple[Bound, Bound]:
    """Lower and upper bound of a comparison by order."""
    op, values = predicate.op, predicate.values
    if op is Op.BETWEEN:
        return (values[0], False), (values[1], False)
    low = (values[0], LOWER[op]) if op in LOWER else None
    high = (values[0], UPPER[op]) if op in UPPER else None
    return low, high


def reaches(outer: tuple[Scalar, bool], inner: tuple[Scalar, bool], before: Callable[[Scalar, Scalar], bool]) -> bool:
    """Whether the outer bound lets pass all that the inner bound does; `before` is the order, seen from outside."""
    (wide, wide_open), (narrow, narrow_open) = outer, inner
    return before(wide, narrow) or (same(wide, narrow) and (narrow_open or not wide_open))


def greater(left: Scalar, right: Scalar) -> bool:
    """The order turned round."""
    return less(right, left)


implied = per_term(rewrite)
