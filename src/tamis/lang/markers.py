"""Markers: constants that stand for the slots of a template while a filter's shape is parsed and simplified.

A marker names its slot, is a constant of the right kind, and leaves room for the small steps simplification takes (`> 5`
over integers is `>= 6`). Markers of upper bounds are greater than all others, so that a range between two markers is never
empty; `guards.py` sees to it that the same holds for the constants.
"""

from collections.abc import Iterator

from tamis.lang.bind import bind_value, check_kinds
from tamis.model.predicate import PRESENCE_OPS, Arithmetic, Atom, Op, OperatorPredicate, Predicate, Variable
from tamis.model.schema import PlainDomain, PublicationType
from tamis.model.subscription import Dnf, Literal
from tamis.model.values import Scalar

MARK = "\ue000"
FIRST = 2**52
ROOM = 4
UPPER = 2**40
UPPER_OPS = (Op.LT, Op.LE, Op.BETWEEN)


def number_marker(slot: int, upper: bool = False) -> int:
    """A number that names a slot."""
    return FIRST + ROOM * (slot + 1) + UPPER * upper


def text_marker(slot: int, upper: bool = False) -> str:
    """A string that names a slot."""
    return f"{MARK}{int(upper)}{slot:06d}"


def slot_and_step(value: object) -> tuple[int, int] | None:
    """The slot a constant stands for and how far it was moved, if it is a marker."""
    if isinstance(value, str):
        return (int(value[2:]), 0) if value.startswith(MARK) else None
    if isinstance(value, int) and abs(value) >= FIRST:
        place, step = divmod((abs(value) - FIRST) % UPPER + 1, ROOM)
        return place - 1, step - 1
    return None


def slot_of(value: object) -> int | None:
    """The slot a constant stands for, if it is a marker."""
    found = slot_and_step(value)
    return None if found is None else found[0]


def constants_of(atom: Atom) -> Iterator[Scalar]:
    """All constants of an atom."""
    stack: list[Scalar | Variable | Arithmetic]
    if isinstance(atom, Predicate):
        stack = list(atom.values)
    else:
        stack = list(atom.arguments) if isinstance(atom, OperatorPredicate) else [atom.left, atom.right]
    while stack:
        part = stack.pop()
        if isinstance(part, Arithmetic):
            stack += part.left, part.right
        elif not isinstance(part, Variable):
            yield part


def negative_slots(atom: Atom) -> Iterator[int]:
    """Slots that stand under a minus sign."""
    for value in constants_of(atom):
        if not isinstance(value, str) and value < 0 and (slot := slot_of(value)) is not None:
            yield slot


def bind_markers(atom: Atom, type: PublicationType | None) -> Atom:
    """A predicate in the form it has once bound, its markers without sign.

    Raises the BindError that every filter of the shape would raise for its attribute, its operator or a fixed value.
    """
    if not isinstance(atom, Predicate):
        return atom
    attribute = None if type is None else type.attribute(atom.attribute)
    if atom.op in PRESENCE_OPS:
        return atom
    if attribute is not None:
        check_kinds(atom, attribute)
    is_time = attribute is not None and attribute.domain == PlainDomain("timestamp")

    def bound(value: Scalar) -> Scalar:
        slot = slot_of(value)
        if slot is None:
            return value if attribute is None else bind_value(value, atom, attribute)
        return value if isinstance(value, str) and not is_time else number_marker(slot)

    return Predicate(atom.attribute, atom.op, tuple(map(bound, atom.values)), atom.nocase)


def raise_upper(dnf: Dnf) -> Dnf:
    """The normal form with the markers of upper bounds above all others."""
    return tuple(tuple(Literal(raised(literal.atom), literal.negated) for literal in term) for term in dnf)


def raised(atom: Atom) -> Atom:
    """An atom with the marker of its upper bound, if it has one, raised."""
    if not isinstance(atom, Predicate) or atom.op not in UPPER_OPS:
        return atom
    *rest, last = atom.values
    slot = slot_of(last)
    assert slot is not None, "no constant of an order is fixed"
    high = text_marker(slot, upper=True) if isinstance(last, str) else number_marker(slot, upper=True)
    return Predicate(atom.attribute, atom.op, (*rest, high), atom.nocase)
