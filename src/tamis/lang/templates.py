"""Normal forms with slots for constants: what all filters of one shape have in common.

A template is made once per shape by reading the filter with a distinct marker in place of each constant. Filling its slots
gives the normal form of a filter *before* simplification. Simplification looks at constants, so its result is reused only
for filters whose constants make no difference to it; `fits` decides that:

- conjunctions in which constants could make one literal imply another (`a > 3 and a > 5`) are always simplified anew;
- otherwise literals must stay different where the markers made them different, ranges must not be empty or single, and
  lists must not repeat a member: then simplification takes the same course for the constants as for the markers.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import TypeAlias

from tamis.errors import BindError, ParseError
from tamis.lang.bind import bind_value, check_kinds
from tamis.lang.normalise import simplify
from tamis.lang.passes.canonical import canonical
from tamis.lang.passes.domains import coverage, integers, members
from tamis.lang.passes.implied import related
from tamis.lang.passes.negation import OPPOSITE
from tamis.model.evaluate import at_most, regex
from tamis.model.predicate import (
    ORDER_OPS,
    PATTERN_OPS,
    PRESENCE_OPS,
    Arithmetic,
    Atom,
    Constraint,
    Op,
    OperatorPredicate,
    Predicate,
    Term,
    Variable,
)
from tamis.model.schema import Attribute, PlainDomain, PublicationType
from tamis.model.subscription import Dnf, Expression, Literal, atoms
from tamis.model.values import Scalar

Constants: TypeAlias = tuple[Scalar, ...]

FIRST = 2**52
SPAN = 1_000_000
MARK = "\ue000"
MOST_PAIRS = 4096
"""Beyond this many pairs of literals a shape is simplified filter by filter: examining it would cost more."""


def number_marker(slot: int, negated: bool) -> int:
    """A number that names a slot. Under a minus sign markers fall, so that they rise with their slots once negated."""
    return FIRST + SPAN - slot if negated else FIRST + slot


def text_marker(slot: int) -> str:
    """A string that names a slot; these rise with their slots too."""
    return f"{MARK}{slot:06d}"


def slot_of(value: object) -> int | None:
    """The slot a constant of the template stands for, if it is a marker."""
    if isinstance(value, str):
        return int(value[1:]) if value.startswith(MARK) else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= FIRST:
        offset = abs(value) - FIRST
        return offset if offset <= SPAN // 2 else SPAN - offset
    return None


class SlotLiteral:
    """A literal that holds markers; `slots[i]` is the slot of its predicate's i-th value, None for a fixed one (`true`)."""

    __slots__ = ("literal", "only", "slots")

    def __init__(self, literal: Literal) -> None:
        self.literal = literal
        self.slots = tuple(map(slot_of, literal.atom.values)) if isinstance(literal.atom, Predicate) else ()
        self.only = self.slots[0] if len(self.slots) == 1 else None

    def fill(self, constants: Constants) -> Literal:
        """The literal with the constants in its slots."""
        atom = self.literal.atom
        if isinstance(atom, Predicate):
            values = self.values(constants) if self.only is None else (constants[self.only],)
            atom = Predicate(atom.attribute, atom.op, values, atom.nocase)
        else:
            atom = fill_atom(atom, constants)
        return Literal(atom, self.literal.negated)

    def values(self, constants: Constants) -> Constants:
        """The values of the predicate with the constants in its slots."""
        assert isinstance(self.literal.atom, Predicate)
        fixed = self.literal.atom.values
        return tuple([fixed[i] if slot is None else constants[slot] for i, slot in enumerate(self.slots)])


def fill_atom(atom: OperatorPredicate | Constraint, constants: Constants) -> Atom:
    """An operator predicate or a constraint with the constants in its slots."""
    if isinstance(atom, OperatorPredicate):
        return OperatorPredicate(atom.name, tuple(fill_value(argument, constants) for argument in atom.arguments))
    return Constraint(atom.op, fill_term(atom.left, constants), fill_term(atom.right, constants))


def fill_term(term: Term, constants: Constants) -> Term:
    """A side of a constraint with the constants in its slots."""
    if isinstance(term, Arithmetic):
        return Arithmetic(term.op, fill_term(term.left, constants), fill_term(term.right, constants))
    return fill_value(term, constants)


def fill_value(value: Scalar | Variable, constants: Constants) -> Scalar | Variable:
    """The constant a marker stands for; anything else as it is."""
    slot = slot_of(value)
    return value if slot is None else constants[slot]


class SlottedDnf:
    """A normal form with slots: its distinct literals, and per conjunction the places of its literals."""

    def __init__(self, dnf: Dnf) -> None:
        distinct = {literal: i for i, literal in enumerate(dict.fromkeys(literal for term in dnf for literal in term))}
        self.literals = tuple(map(SlotLiteral, distinct))
        self.terms = tuple(tuple(distinct[literal] for literal in term) for term in dnf)

    def fill(self, constants: Constants) -> Dnf:
        """The normal form with the constants in its slots."""
        filled = [literal.fill(constants) for literal in self.literals]
        if len(self.terms) == 1:
            return (tuple([filled[i] for i in self.terms[0]]),)
        return tuple([tuple([filled[i] for i in term]) for term in self.terms])


class Template:
    """All filters of one shape: `prepare` their constants, then `fill`."""

    def __init__(self, expression: Expression, dnf: Dnf, type: PublicationType | None) -> None:
        self.type = type
        self.raw = SlottedDnf(dnf)
        """The normal form before simplification."""
        self.minus: list[int] = []
        """Slots under a minus sign."""
        self.patterns: list[tuple[int, bool]] = []
        """Slots that hold regular expressions, and whether they ignore case."""
        self.typed: list[tuple[int, Predicate, Attribute]] = []
        """Slots whose constants must belong to a domain."""
        for atom in atoms(expression):  # not those of the normal form: `false and …` is checked as a whole
            self._note(atom)
        self.guards = Guards(dnf, type)
        self.simple = SlottedDnf(simplify(dnf, None)) if self.guards.possible else self.raw
        """The simplified normal form, for constants that fit."""

    def _note(self, atom: Atom) -> None:
        """Remember what must be done to an atom's constants in every filter."""
        self.minus += negative_slots(atom)
        if not isinstance(atom, Predicate):
            return
        slots = [slot for slot in map(slot_of, atom.values) if slot is not None]
        if atom.op is Op.MATCHES:
            self.patterns += [(slot, atom.nocase) for slot in slots]
        elif self.type is not None and atom.op not in PATTERN_OPS:
            self.typed += [(slot, atom, self.type.attributes[atom.attribute]) for slot in slots]

    def prepare(self, constants: Constants) -> Constants | None:
        """The constants as the slots take them: signed, bound to their domains; None if one of them is at fault."""
        if not (self.minus or self.patterns or self.typed):
            return constants
        ready = list(constants)
        for slot in self.minus:
            ready[slot] = 0 - ready[slot]  # type: ignore[operator]
        try:
            for slot, nocase in self.patterns:
                regex(str(ready[slot]), nocase)
            for slot, predicate, attribute in self.typed:
                ready[slot] = bind_value(ready[slot], predicate, attribute)
        except (ParseError, BindError):
            return None
        return tuple(ready)

    def fits(self, constants: Constants) -> bool:
        """Whether `simple` is the simplified normal form for these (prepared) constants."""
        return self.guards.allow(constants)

    def fill(self, constants: Constants) -> Dnf:
        """The simplified normal form for these (prepared) constants."""
        if self.guards.allow(constants):
            return self.simple.fill(constants)
        return simplify(self.raw.fill(constants), self.type)


class Guards:
    """When simplification takes the same course for some constants as for the markers."""

    def __init__(self, dnf: Dnf, type: PublicationType | None) -> None:
        spelt = canonical(dnf, None)
        literals = [SlotLiteral(literal) for literal in dict.fromkeys(literal for term in spelt for literal in term)]
        self.possible = (
            all(at_most(*atom.values) for atom in predicates(dnf) if atom.op is Op.BETWEEN)
            and sum(len(term) ** 2 for term in spelt) <= MOST_PAIRS
            and not any(entangled(one, other, type) for term in spelt for one, other in combinations(term, 2))
            and not any(decided_by_domain(part, type) for part in literals)
        )
        self.ranges: list[tuple[int, int]] = []
        """Slots of which the first must hold less than the second."""
        self.lists: list[SlotLiteral] = []
        """Literals whose values must differ."""
        self.inside: list[tuple[int, int, int]] = []
        """Slots that must hold more than the one and less than the other number."""
        families: dict[tuple[object, ...], dict[Atom, SlotLiteral]] = {}
        for part in literals:
            atom = part.literal.atom
            families.setdefault(family(atom), {})[atom] = part
            if isinstance(atom, Predicate):
                self._watch(part, atom, type)
        self.apart = [tuple(same.values()) for same in families.values() if len(same) > 1]
        """Groups of literals that must stay different from each other."""
        self.possible = self.possible and all(isinstance(group[0].literal.atom, Predicate) for group in self.apart)
        self.free = not (self.ranges or self.lists or self.inside or self.apart)

    def _watch(self, part: SlotLiteral, atom: Predicate, type: PublicationType | None) -> None:
        """Note the conditions on one predicate's constants."""
        if atom.op is Op.BETWEEN:
            low, high = part.slots
            assert low is not None
            assert high is not None
            self.ranges.append((low, high))
        elif atom.op in (Op.IN, Op.NOT_IN):
            self.lists.append(part)
        span = None if type is None else integers(type.attributes[atom.attribute].domain)
        if span is not None and atom.op in ORDER_OPS:
            self.inside += [(slot, *span) for slot in part.slots if slot is not None]

    def allow(self, constants: Constants) -> bool:
        """Whether the constants keep to all conditions."""
        if not self.possible:
            return False
        if self.free:
            return True
        for lesser, greater in self.ranges:
            if not constants[lesser] < constants[greater]:  # type: ignore[operator]
                return False
        for slot, low, high in self.inside:
            if not low < constants[slot] < high:  # type: ignore[operator]
                return False
        for part in self.lists:
            if len(set(part.values(constants))) < len(part.slots):
                return False
        return all(len({part.values(constants) for part in group}) == len(group) for group in self.apart)


def predicates(dnf: Dnf) -> Iterator[Predicate]:
    """The predicates of a normal form."""
    return (literal.atom for term in dnf for literal in term if isinstance(literal.atom, Predicate))


def family(atom: Atom) -> tuple[object, ...]:
    """Atoms of one family are equal, or opposite under a type, if their constants are."""
    if isinstance(atom, Predicate):
        ops = frozenset({atom.op, OPPOSITE.get(atom.op, atom.op)})
        return atom.attribute, ops, atom.nocase, len(atom.values)
    return (atom.name, len(atom.arguments)) if isinstance(atom, OperatorPredicate) else (atom.op,)


def entangled(one: Literal, other: Literal, type: PublicationType | None) -> bool:
    """Whether constants decide what two literals of a conjunction make of each other, by more than being equal."""
    left, right = one.atom, other.atom
    if not isinstance(left, Predicate) or not isinstance(right, Predicate) or left.attribute != right.attribute:
        return False
    presence = left.op in PRESENCE_OPS or right.op in PRESENCE_OPS
    merged = type is not None and not type.attributes[left.attribute].many
    return not presence and left != right and (merged or related(left, right))


def decided_by_domain(part: SlotLiteral, type: PublicationType | None) -> bool:
    """Whether the domain may decide a literal for some constants in ways the guards do not watch."""
    atom = part.literal.atom
    if type is None or not isinstance(atom, Predicate) or atom.op in PRESENCE_OPS:
        return False
    domain = type.attributes[atom.attribute].domain
    if all(slot is None for slot in part.slots):
        return coverage(atom, domain) is not None
    values = members(domain)
    equality = atom.op in (Op.EQ, Op.NE) and not atom.nocase
    return values is not None and not (equality and len(values) > 1)


def bind_markers(atom: Atom, type: PublicationType) -> Atom:
    """The atom in the form it has once bound: operator and fixed values checked, markers of timestamps now numbers."""
    if not isinstance(atom, Predicate):
        return atom
    attribute = type.attribute(atom.attribute)
    if atom.op in PRESENCE_OPS:
        return atom
    check_kinds(atom, attribute)
    is_time = attribute.domain == PlainDomain("timestamp")

    def bound(value: Scalar) -> Scalar:
        slot = slot_of(value)
        if slot is None:
            return bind_value(value, atom, attribute)
        return number_marker(slot, negated=False) if is_time and isinstance(value, str) else value

    return Predicate(atom.attribute, atom.op, tuple(map(bound, atom.values)), atom.nocase)


def negative_slots(atom: Atom) -> Iterator[int]:
    """Slots that stand under a minus sign."""
    stack: list[Scalar | Variable | Arithmetic]
    if isinstance(atom, Predicate):
        stack = list(atom.values)
    else:
        stack = list(atom.arguments) if isinstance(atom, OperatorPredicate) else [atom.left, atom.right]
    while stack:
        part = stack.pop()
        if isinstance(part, Arithmetic):
            stack += part.left, part.right
        elif not isinstance(part, str | Variable) and part < 0 and (slot := slot_of(part)) is not None:
            yield slot
