"""Under a type, merge all that a conjunction says of an attribute that holds one value: ranges, constants, exclusions."""

from collections.abc import Iterable
from math import ceil, floor

from tamis.lang.passes.canonical import identities
from tamis.lang.passes.domains import integers, members
from tamis.lang.passes.implied import Bound, bounds
from tamis.lang.passes.terms import per_term
from tamis.model.evaluate import satisfies
from tamis.model.predicate import ORDER_OPS, PRESENCE_OPS, Op, Predicate
from tamis.model.schema import Attribute, PublicationType, domain_kind
from tamis.model.subscription import Conjunction, Literal
from tamis.model.values import Scalar, kind, less, same


def rewrite(term: Conjunction, type: PublicationType | None) -> Conjunction | None:
    """Attributes keep the place of their first literal; None if no single value can satisfy all that is said of one."""
    if type is None:
        return term
    groups: dict[object, list[Literal]] = {}
    for literal in term:
        name = literal.atom.attribute if isinstance(literal.atom, Predicate) else None
        declared = None if name is None else type.attributes.get(name)
        groups.setdefault(literal if declared is None or declared.many else name, []).append(literal)
    if len(groups) == len(term):
        return term
    merged: list[Literal] = []
    for key, group in groups.items():
        left = merge(type.attributes[key], group) if isinstance(key, str) and len(group) > 1 else group
        if left is None:
            return None
        merged += left
    return tuple(merged)


def merge(attribute: Attribute, literals: list[Literal]) -> list[Literal] | None:
    """The literals on one single-valued attribute, as few as possible, or None if they exclude each other."""
    if any(isinstance(literal.atom, Predicate) and literal.atom.op in PRESENCE_OPS for literal in literals):
        return literals
    listed = [literal for literal in literals if is_list(literal)]
    if listed:
        others = [literal for literal in literals if not is_list(literal)]
        return one_of(attribute.name, tuple(value for value in common(listed) if allowed(value, others)))
    finite = members(attribute.domain)
    if finite is not None:
        possible = tuple(value for value in finite if allowed(value, literals))
        return one_of(attribute.name, possible) if len(possible) < 2 else literals
    return merge_ranges(attribute, literals)


def is_list(literal: Literal) -> bool:
    """Whether a literal lists the values it takes."""
    predicate = literal.atom
    equality = isinstance(predicate, Predicate) and predicate.op in (Op.EQ, Op.IN) and not predicate.nocase
    return equality and not literal.negated


def common(listed: list[Literal]) -> Iterable[Scalar]:
    """The values that all of some lists have, in the order of the first."""
    first, *rest = (identities(part.atom.values) for part in listed if isinstance(part.atom, Predicate))
    return (value for key, value in first.items() if all(key in other for other in rest))


def merge_ranges(attribute: Attribute, literals: list[Literal]) -> list[Literal] | None:
    """Intersect the ranges; keep the other literals unless the range already decides them."""
    discrete = integers(attribute.domain) is not None
    low: Bound = None
    high: Bound = None
    others: list[Literal] = []
    for literal in literals:
        predicate = literal.atom
        assert isinstance(predicate, Predicate)
        if literal.negated or not is_range(predicate, attribute):
            others.append(literal)
            continue
        lower, upper = bounds(predicate)
        low = tighter(low, closed(lower, +1) if discrete else lower, above=True)
        high = tighter(high, closed(upper, -1) if discrete else upper, above=False)
    if low and high:
        if less(high[0], low[0]) or (same(low[0], high[0]) and (low[1] or high[1])):
            return None
        if same(low[0], high[0]):
            return one_of(attribute.name, tuple(v for v in (low[0],) if allowed(v, others)))
    span = range_literals(attribute.name, low, high)
    return span + [other for other in others if not excluded_outside(other, span)]


def is_range(predicate: Predicate, attribute: Attribute) -> bool:
    """Whether the predicate cuts a range out of the attribute's values."""
    ordered = predicate.op in ORDER_OPS and not predicate.nocase
    return ordered and all(kind(value) is domain_kind(attribute.domain) for value in predicate.values)


def closed(bound: Bound, step: int) -> Bound:
    """A bound over integers with its constant included: `> 5` is `>= 6`."""
    if bound is None:
        return None
    value, is_open = bound
    assert not isinstance(value, str), "is_range lets only numbers through for a domain of numbers"
    inside = ceil(value) if step > 0 else floor(value)
    return (inside + step if is_open and inside == value else inside), False


def tighter(one: Bound, other: Bound, above: bool) -> Bound:
    """The stronger of two lower (`above`) or upper bounds."""
    if one is None or other is None:
        return one or other
    if same(one[0], other[0]):
        return one[0], one[1] or other[1]
    return other if less(one[0], other[0]) is above else one


def range_literals(name: str, low: Bound, high: Bound) -> list[Literal]:
    """A range in the fewest predicates."""
    if low and high and not low[1] and not high[1]:
        return [Literal(Predicate(name, Op.BETWEEN, (low[0], high[0])))]
    found = []
    if low:
        found.append(Literal(Predicate(name, Op.GT if low[1] else Op.GE, (low[0],))))
    if high:
        found.append(Literal(Predicate(name, Op.LT if high[1] else Op.LE, (high[0],))))
    return found


def excluded_outside(literal: Literal, span: list[Literal]) -> bool:
    """Whether a literal only excludes values that the range excludes already."""
    predicate = literal.atom
    if (
        not isinstance(predicate, Predicate)
        or predicate.op not in (Op.NE, Op.NOT_IN)
        or literal.negated
        or predicate.nocase
    ):
        return False
    return bool(span) and not any(allowed(value, span) for value in predicate.values)


def allowed(value: Scalar, literals: list[Literal]) -> bool:
    """Whether one value satisfies all the literals."""
    return all(
        isinstance(part.atom, Predicate) and satisfies(part.atom, value) is not part.negated for part in literals
    )


def one_of(name: str, values: tuple[Scalar, ...]) -> list[Literal] | None:
    """`= v`, `in (…)`, or None for no value."""
    if not values:
        return None
    return [Literal(Predicate(name, Op.EQ if len(values) == 1 else Op.IN, values))]


scalars = per_term(rewrite)
