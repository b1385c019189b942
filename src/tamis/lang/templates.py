"""Templates: what all filters of one shape have in common.

A template is made once per shape by reading the filter with a distinct marker in place of each constant. Filling its slots
gives the normal form of a filter before simplification (`raw`). Simplification looks at constants, so its result (`simple`)
is reused only for filters whose constants make no difference to it, which is most; the others are simplified anew.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tamis.errors import BindError, ParseError
from tamis.lang.bind import bind_value
from tamis.lang.guards import Guards
from tamis.lang.markers import slot_of
from tamis.lang.normalise import simplify
from tamis.lang.passes.domains import domains
from tamis.lang.passes.order import ORDER
from tamis.lang.slots import Constants, SlottedDnf
from tamis.model.evaluate import regex
from tamis.model.predicate import PATTERN_OPS, Atom, Op, Predicate
from tamis.model.schema import Attribute, EnumDomain, IntDomain, PublicationType
from tamis.model.subscription import Dnf, Expression, Not, atoms

# Domains do not decide markers, and the guards see to it that they do not decide the constants either.
MARKER_PASSES = tuple(rewrite for rewrite in ORDER if rewrite is not domains)


class Admission(NamedTuple):
    """A slot of a declared attribute; constants of `classes` within `span` are known to belong to its domain as they are."""

    slot: int
    predicate: Predicate
    attribute: Attribute
    classes: frozenset[type]
    span: tuple[int, int] | None


def admission(slot: int, predicate: Predicate, attribute: Attribute) -> Admission:
    """What a slot takes."""
    domain = attribute.domain
    if isinstance(domain, EnumDomain):
        return Admission(slot, predicate, attribute, frozenset(), None)
    if isinstance(domain, IntDomain):
        return Admission(slot, predicate, attribute, frozenset({int}), (domain.lo, domain.hi))
    classes: dict[str, set[type]] = {"float": {int, float}, "string": {str}, "timestamp": {int}, "bool": set()}
    return Admission(slot, predicate, attribute, frozenset(classes[domain.name]), None)


class Template:
    """All filters of one shape: `prepare` their constants, then `fill`."""

    def __init__(
        self, expression: Expression, dnf: Dnf, type: PublicationType | None, minus: Iterable[int], width: int
    ) -> None:
        self.type = type
        self.width = width
        """How many constants a filter has."""
        self.raw = SlottedDnf(dnf)
        """The normal form before simplification."""
        self.minus = tuple(minus)
        """Slots under a minus sign."""
        self.patterns: list[tuple[int, bool]] = []
        """Slots that hold regular expressions, and whether they ignore case."""
        self.typed: list[Admission] = []
        """What the slots of declared attributes take."""
        for atom in atoms(expression):  # not those of the normal form: `false and …` is checked as a whole
            self._note(atom)
        self.guards = Guards(dnf, type)
        self.simple = SlottedDnf(simplify(dnf, type, MARKER_PASSES)) if self.guards.possible else self.raw
        """The simplified normal form, for constants that fit."""
        bare = expression.child if isinstance(expression, Not) else expression
        self.lone = bare.attribute if isinstance(bare, Predicate) and single(self.raw, self.simple) else None
        """The attribute, where the filters are one predicate, perhaps negated."""

    def _note(self, atom: Atom) -> None:
        """Remember what must be checked of an atom's constants in every filter."""
        if not isinstance(atom, Predicate):
            return
        slots = [slot for slot in map(slot_of, atom.values) if slot is not None]
        if atom.op is Op.MATCHES:
            self.patterns += [(slot, atom.nocase) for slot in slots]
        elif self.type is not None and atom.op not in PATTERN_OPS:
            self.typed += [admission(slot, atom, self.type.attributes[atom.attribute]) for slot in slots]

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
            for slot, predicate, attribute, classes, span in self.typed:
                value = ready[slot]
                known = value.__class__ in classes
                if not known or (span is not None and not span[0] <= value <= span[1]):  # type: ignore[operator]
                    ready[slot] = bind_value(value, predicate, attribute)
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


def single(*forms: SlottedDnf) -> bool:
    """Whether each of some normal forms is one literal."""
    return all(form.terms == ((0,),) for form in forms)
