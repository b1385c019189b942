"""Normal forms over markers, and how constants are filled into them."""

from typing import TypeAlias

from tamis.lang.markers import slot_and_step, slot_of
from tamis.model.predicate import Arithmetic, Atom, Constraint, OperatorPredicate, Predicate, Term, Variable
from tamis.model.subscription import Dnf, Literal
from tamis.model.values import Scalar

Constants: TypeAlias = tuple[Scalar, ...]


class SlotLiteral:
    """A literal that holds markers.

    The i-th value of its predicate is the constant in `slots[i]` plus `steps[i]`; where the slot is None (`true`), the
    value is fixed and stands in the literal itself. Operators and constraints keep their markers to themselves.
    """

    __slots__ = ("all", "literal", "only", "slots", "steps")

    def __init__(self, literal: Literal) -> None:
        values = literal.atom.values if isinstance(literal.atom, Predicate) else ()
        found = tuple(slot_and_step(value) or (None, 0) for value in values)
        self.literal = literal
        self.slots: tuple[int | None, ...] = tuple(slot for slot, _ in found)
        self.steps = tuple(step for _, step in found)
        # The usual cases, made fast: one slot, and all constants as they are.
        self.only = self.slots[0] if self.steps == (0,) else None
        self.all = len(found) if found == tuple((slot, 0) for slot in range(len(found))) else -1

    def fill(self, constants: Constants, name: str | None = None) -> Literal:
        """The literal with the constants in its slots, about the attribute `name` if that is given."""
        atom = self.literal.atom
        if isinstance(atom, Predicate):
            if self.all == len(constants):
                values = constants
            else:
                values = self.values(constants) if self.only is None else (constants[self.only],)
            return Literal(Predicate(name or atom.attribute, atom.op, values, atom.nocase), self.literal.negated)
        return Literal(fill_atom(atom, constants), self.literal.negated)

    def values(self, constants: Constants) -> Constants:
        """The values of the predicate with the constants in its slots."""
        assert isinstance(self.literal.atom, Predicate)
        fixed, filled = self.literal.atom.values, []
        for place, slot in enumerate(self.slots):
            value = fixed[place] if slot is None else constants[slot]
            step = self.steps[place]
            filled.append(value + step if step else value)  # type: ignore[operator]
        return tuple(filled)


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
    """A normal form over markers: its distinct literals, and per conjunction the places of its literals among them."""

    def __init__(self, dnf: Dnf) -> None:
        distinct = {literal: i for i, literal in enumerate(dict.fromkeys(literal for term in dnf for literal in term))}
        self.literals = tuple(map(SlotLiteral, distinct))
        self.terms = tuple(tuple(distinct[literal] for literal in term) for term in dnf)

    def fill(self, constants: Constants) -> Dnf:
        """The normal form with the constants in its slots."""
        filled = [literal.fill(constants) for literal in self.literals]
        return tuple([tuple([filled[i] for i in term]) for term in self.terms])
