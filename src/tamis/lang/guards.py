"""When simplification takes the same course for a filter's constants as it took for the markers of its template.

It looks at constants in few ways, and each is either watched in every filter or rules the reuse out for good:

- two literals of a conjunction may imply each other (`a > 3 and a > 5`), or merge under a type: ruled out, but for a lower
  and an upper bound, of which the first must stay below the second;
- literals may become equal: watched; a range may be empty or hold one value, a list repeat a member: watched;
- a domain may decide a literal: bounds must lie inside the domain; for enums all but plain equality is ruled out.
"""

from itertools import combinations

from tamis.lang.passes.canonical import canonical
from tamis.lang.passes.domains import coverage, integers, members
from tamis.lang.passes.implied import LOWER, UPPER, related
from tamis.lang.passes.masks import numbered
from tamis.lang.passes.negation import OPPOSITE
from tamis.lang.slots import Constants, SlotLiteral
from tamis.model.predicate import ORDER_OPS, PRESENCE_OPS, Atom, Op, OperatorPredicate, Predicate
from tamis.model.schema import PublicationType
from tamis.model.subscription import Dnf, Literal

MOST_PAIRS = 4096
"""Beyond this many pairs of literals a shape is simplified filter by filter: examining it would cost more."""


class Guards:
    """The conditions on constants under which a template's simplified form holds."""

    def __init__(self, dnf: Dnf, type: PublicationType | None) -> None:
        self.type = type
        self.ranges: list[tuple[int, int, int]] = []
        """(low, high, gap): slot `high` must hold more than slot `low` and the gap together."""
        self.inside: list[tuple[int, int, int]] = []
        """Slots that must hold more than the one and less than the other number."""
        self.lists: list[SlotLiteral] = []
        """Literals whose values must all differ."""
        self.apart: list[tuple[SlotLiteral, ...]] = []
        """Groups of literals that must differ from each other."""
        spelt = canonical(dnf, None)
        self.possible = (  # False: no constants allow the reuse
            sum(len(term) ** 2 for term in spelt) <= MOST_PAIRS
            and all(self._pair(one, other) for term in spelt for one, other in combinations(term, 2))
            and all(self._literal(SlotLiteral(literal)) for literal in numbered(spelt))
            and self._families(spelt)
        )
        self.free = not (self.ranges or self.inside or self.lists or self.apart)

    def _pair(self, one: Literal, other: Literal) -> bool:
        """Note what must hold of two literals of one conjunction; False if their constants might do too much."""
        left, right = one.atom, other.atom
        if not isinstance(left, Predicate) or not isinstance(right, Predicate) or left.attribute != right.attribute:
            return True
        if left == right or left.op in PRESENCE_OPS or right.op in PRESENCE_OPS:
            return True
        declared = None if self.type is None else self.type.attributes[left.attribute]
        if declared is None or declared.many:
            return not related(left, right)
        if right.op in LOWER:
            left, right = right, left
        if left.op not in LOWER or right.op not in UPPER or members(declared.domain) is not None:
            return False
        if one.negated or other.negated or left.nocase or right.nocase:
            return False
        (low,), (high,) = SlotLiteral(Literal(left)).slots, SlotLiteral(Literal(right)).slots
        assert low is not None
        assert high is not None
        discrete = integers(declared.domain) is not None
        self.ranges.append((low, high, LOWER[left.op] + UPPER[right.op] if discrete else 0))
        return True

    def _literal(self, part: SlotLiteral) -> bool:
        """Note what must hold of one literal; False if its domain might decide it in ways that are not watched."""
        atom = part.literal.atom
        if not isinstance(atom, Predicate) or atom.op in PRESENCE_OPS:
            return True
        slots = [slot for slot in part.slots if slot is not None]
        if atom.op is Op.BETWEEN:
            self.ranges.append((slots[0], slots[1], 0))
        elif atom.op in (Op.IN, Op.NOT_IN):
            self.lists.append(part)
        if self.type is None:
            return True
        domain = self.type.attributes[atom.attribute].domain
        span = integers(domain)
        if span is not None and atom.op in ORDER_OPS:
            self.inside += [(slot, *span) for slot in slots]
        if not slots:
            return coverage(atom, domain) is None
        values = members(domain)
        return values is None or (atom.op in (Op.EQ, Op.NE) and not atom.nocase and len(values) > 1)

    def _families(self, dnf: Dnf) -> bool:
        """Note which literals must stay different; False if that cannot be told from their values."""
        families: dict[tuple[object, ...], dict[Atom, SlotLiteral]] = {}
        for literal in numbered(dnf):
            families.setdefault(family(literal.atom), {})[literal.atom] = SlotLiteral(literal)
        self.apart = [tuple(same.values()) for same in families.values() if len(same) > 1]
        return all(isinstance(group[0].literal.atom, Predicate) for group in self.apart)

    def allow(self, constants: Constants) -> bool:
        """Whether these constants keep to all conditions."""
        if not self.possible:
            return False
        if self.free:
            return True
        for low, high, gap in self.ranges:
            below = constants[low] + gap if gap else constants[low]  # type: ignore[operator]
            if not below < constants[high]:  # type: ignore[operator]
                return False
        for slot, least, most in self.inside:
            if not least < constants[slot] < most:  # type: ignore[operator]
                return False
        for part in self.lists:
            if len(set(part.values(constants))) < len(part.slots):
                return False
        return all(len({part.values(constants) for part in group}) == len(group) for group in self.apart)


def family(atom: Atom) -> tuple[object, ...]:
    """Atoms of one family are equal, or opposite under a type, if their constants are."""
    if isinstance(atom, Predicate):
        ops = frozenset({atom.op, OPPOSITE.get(atom.op, atom.op)})
        return atom.attribute, ops, atom.nocase, len(atom.values)
    return (atom.name, len(atom.arguments)) if isinstance(atom, OperatorPredicate) else (atom.op,)
