"""Within a conjunction, drop what another literal implies and find what another contradicts.

Safe for lists: only whole sets of values are compared (see the package's docstring). Covers duplicates, `p and not p`,
lower bounds with lower bounds, upper with upper, and constants tested by other predicates.
"""

from collections.abc import Callable, Iterable
from itertools import combinations

from tamis.lang.passes.canonical import identities
from tamis.model.evaluate import satisfies
from tamis.model.predicate import Op, Predicate
from tamis.model.schema import PublicationType
from tamis.model.subscription import Conjunction, Dnf, Literal
from tamis.model.values import Scalar, less, same

PRESENCE = (Op.EXISTS, Op.MISSING)
LOWER = {Op.GT: True, Op.GE: False}
UPPER = {Op.LT: True, Op.LE: False}


def implied(dnf: Dnf, type: PublicationType | None) -> Dnf:
    """Each conjunction without implied literals; without the conjunctions in which two literals exclude each other."""
    tables: dict[object, Table] = {}
    reduced = (reduce(term, dnf, tables) for term in dnf)
    return tuple(term for term in reduced if term is not None)


def reduce(term: Conjunction, dnf: Dnf, tables: "dict[object, Table]") -> Conjunction | None:
    """One conjunction of `dnf` without implied literals, or None if two exclude each other."""
    groups: dict[object, list[Literal]] = {}
    for literal in term:
        groups.setdefault(subject(literal), []).append(literal)
    if len(groups) == len(term):
        return term
    kept: set[int] = set()
    for key, group in groups.items():
        if len(group) > 1:
            if key not in tables:
                tables[key] = Table(part for other in dnf for part in other if subject(part) == key)
            settled = tables[key].settle(group)
            if settled is None:
                return None
            group = settled
        kept.update(map(id, group))
    return term if len(kept) == len(term) else tuple({id(part): part for part in term if id(part) in kept}.values())


def subject(literal: Literal) -> object:
    """Only literals on one subject bear on each other: an attribute, or an operator or constraint as a whole."""
    atom = literal.atom
    return atom.attribute if isinstance(atom, Predicate) else (atom,)


class Table:
    """How the literals on one subject stand to each other, worked out once for all conjunctions.

    Conjunctions share their literals, so identity tells them apart; row i has bit j set if literal i excludes or implies j.
    """

    def __init__(self, literals: Iterable[Literal]) -> None:
        distinct = {id(literal): literal for literal in literals}
        self.place = {key: i for i, key in enumerate(distinct)}
        self.excludes = [0] * len(distinct)
        self.implies = [0] * len(distinct)
        for (i, left), (j, right) in combinations(enumerate(distinct.values()), 2):
            if excludes(left, right) or excludes(right, left):
                self.excludes[i] |= 1 << j
                self.excludes[j] |= 1 << i
            self.implies[i] |= implies(left, right) << j
            self.implies[j] |= implies(right, left) << i

    def settle(self, group: list[Literal]) -> list[Literal] | None:
        """The literals that none of the others implies, or None if two exclude each other."""
        places = [self.place[id(literal)] for literal in group]
        alive = 0
        for i in places:
            alive |= 1 << i
        if any(self.excludes[i] & alive for i in places):
            return None
        for i in places:  # only what is still alive may drop another, so of equal literals one stays
            if alive >> i & 1:
                alive &= ~self.implies[i]
        return [literal for i, literal in zip(places, group, strict=True) if alive >> i & 1]


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
        return left == right
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
    if inner.op is Op.IN and outer.op is Op.IN and not outer.nocase:
        return identities(inner.values).keys() <= identities(outer.values).keys()
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
