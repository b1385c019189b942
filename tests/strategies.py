"""Hypothesis strategies shared by all tests: values, predicates, conditions, events, publication types.

Alphabets are small so that conditions meet the events: few attributes, few constants, and constants that differ only in
kind, sign, case or the last bit.
"""

from collections.abc import Sequence
from functools import cache

from hypothesis import strategies as st

from tamis.model.event import Event
from tamis.model.predicate import (
    ORDER_OPS,
    PATTERN_OPS,
    PRESENCE_OPS,
    Arithmetic,
    Constraint,
    Op,
    OperatorPredicate,
    Predicate,
    Term,
    Variable,
)
from tamis.model.schema import Attribute, Domain, EnumDomain, IntDomain, PlainDomain, PublicationType, domain_kind
from tamis.model.subscription import And, Constant, Expression, Not, Or, atoms
from tamis.model.values import INT64_MAX, INT64_MIN, Kind, Scalar, kind

ATTRIBUTES = ("a", "b", "c.d", "naïve name")

INTEGERS = (
    -1,
    0,
    1,
    2,
    3,
    2**53 - 1,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    INT64_MAX,
    INT64_MAX - 1,
    INT64_MIN,
    INT64_MIN + 1,
)
FLOATS = (-0.0, 0.0, 0.5, 1.0, 1.5, -1.5, 5e-324, 1.7e308, float(2**53), float(2**63), -float(2**63), 2.0**53 + 2)
STRINGS = (
    "",
    "a",
    "A",
    "ab",
    "abc",
    "b",
    "bA",
    "1",
    "true",
    "ß",
    "SS",
    "Straße",
    "é",
    "日本",
    "𝒳",
    "it's",
    'q"',
    "%",
    "a_c",
    "a\nb",
)
PATTERNS = ("%", "_", "a%", "%b", "a_c", "%b%", "", "a\\%", "_%", "A%C", "ß", "%\n%")
REGEXES = ("a", "^a", "b$", "^a.*c$", "[ab]+", "(?i)A", "^$", "é|日", ".", "\\d+")

numbers = st.one_of(
    st.sampled_from(INTEGERS),
    st.sampled_from(FLOATS),
    st.integers(0, 9),
    st.integers(INT64_MIN, INT64_MAX),
    st.floats(allow_nan=False, allow_infinity=False),
)
strings = st.one_of(st.sampled_from(STRINGS), st.text("abAß", max_size=4), st.text(max_size=6))
booleans = st.booleans()
scalars: st.SearchStrategy[Scalar] = st.one_of(numbers, strings, booleans)
attribute_names = st.sampled_from(ATTRIBUTES)


@st.composite
def predicates(draw: st.DrawFn, names: st.SearchStrategy[str] = attribute_names) -> Predicate:
    """Any well-formed predicate."""
    name, op = draw(names), draw(st.sampled_from(Op))
    if op in PRESENCE_OPS:
        return Predicate(name, op)
    if op is Op.MATCHES:
        return Predicate(name, op, (draw(st.sampled_from(REGEXES)),), draw(st.booleans()))
    if op is Op.LIKE:
        return Predicate(name, op, (draw(st.one_of(st.sampled_from(PATTERNS), strings)),), draw(st.booleans()))
    if op in PATTERN_OPS:
        return Predicate(name, op, (draw(strings),), draw(st.booleans()))
    if op in ORDER_OPS:
        of_one_kind = draw(st.sampled_from((numbers, strings)))
        values: tuple[Scalar, ...] = tuple(draw(of_one_kind) for _ in range(2 if op is Op.BETWEEN else 1))
    else:
        size = st.integers(1, 4) if op in (Op.IN, Op.NOT_IN) else st.just(1)
        values = tuple(draw(scalars) for _ in range(draw(size)))
    nocase = any(isinstance(value, str) for value in values) and draw(st.booleans())
    return Predicate(name, op, values, nocase)


def conditions(leaves: st.SearchStrategy[Expression], size: int = 8) -> st.SearchStrategy[Expression]:
    """Boolean combinations of `leaves`, within the default limits on depth and terms when `size` is small."""
    return st.recursive(
        st.one_of(leaves, leaves, leaves, st.builds(Constant, st.booleans())),
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        ),
        max_leaves=size,
    )


expressions: st.SearchStrategy[Expression] = conditions(predicates())
"""Conditions over plain predicates: what every engine must match."""

TINY: tuple[Scalar, ...] = (0, 1, 2, "a", "b", True)
tiny = st.sampled_from(TINY)
tiny_predicates = st.one_of(
    st.builds(Predicate, st.sampled_from("ab"), st.sampled_from((Op.EQ, Op.NE)), st.tuples(tiny)),
    st.builds(
        Predicate,
        st.sampled_from("ab"),
        st.sampled_from((Op.LT, Op.LE, Op.GT, Op.GE)),
        st.tuples(st.sampled_from((0, 1, 2, "a", "b"))),
    ),
    st.builds(
        Predicate,
        st.sampled_from("ab"),
        st.just(Op.BETWEEN),
        st.tuples(st.sampled_from((0, 1, 2)), st.sampled_from((0, 1, 2))),
    ),
    st.builds(
        Predicate,
        st.sampled_from("ab"),
        st.sampled_from((Op.IN, Op.NOT_IN)),
        st.lists(tiny, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Predicate, st.sampled_from("ab"), st.sampled_from((Op.EXISTS, Op.MISSING))),
    st.builds(Predicate, st.sampled_from("ab"), st.just(Op.STARTS), st.tuples(st.sampled_from(("a", "b"))), booleans),
)
tiny_expressions: st.SearchStrategy[Expression] = conditions(tiny_predicates)
"""Conditions over so few names and constants that their predicates imply, exclude and repeat each other."""
tiny_events: st.SearchStrategy[Event] = st.dictionaries(
    st.sampled_from("ab"),
    st.lists(st.sampled_from((*TINY, -1, 0.5, 1.5, 3, "A", "ab")), min_size=1, max_size=2).map(tuple),
)

variables = st.builds(Variable, st.sampled_from(("x", "y", "z1")))
terms: st.SearchStrategy[Term] = st.recursive(
    st.one_of(variables, numbers),
    lambda inner: st.builds(Arithmetic, st.sampled_from(("+", "-", "*", "/")), inner, inner),
    max_leaves=4,
)
constraints = st.builds(
    Constraint, st.sampled_from((Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)), terms, st.one_of(terms, strings)
).filter(lambda constraint: bool(constraint.variables))
operator_predicates = st.builds(
    OperatorPredicate,
    st.sampled_from(("locIn", "count", "odd name")),
    st.lists(st.one_of(scalars, variables), max_size=3).map(tuple),
)
all_expressions: st.SearchStrategy[Expression] = conditions(st.one_of(predicates(), operator_predicates, constraints))
"""Conditions of the whole language, operators and constraints included."""

events: st.SearchStrategy[Event] = st.dictionaries(
    attribute_names, st.lists(scalars, min_size=1, max_size=3).map(tuple), max_size=len(ATTRIBUTES)
)
"""Events as `model.event.normalise` gives them: each attribute with one or several values."""


@st.composite
def related_events(draw: st.DrawFn, expression: Expression) -> Event:
    """An event made mostly of the constants a condition names and their neighbours, so that it often decides the condition."""
    constants: dict[str, list[Scalar]] = {}
    for atom in atoms(expression):
        if isinstance(atom, Predicate):
            constants.setdefault(atom.attribute, []).extend(near for value in atom.values for near in neighbours(value))
    event = dict(draw(events))
    for name, values in sorted(constants.items()):
        if values and draw(st.sampled_from((True, True, False))) is True:
            picked = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2))
            event[name] = tuple(picked)
    return event


def neighbours(value: Scalar) -> Sequence[Scalar]:
    """A constant and values that barely differ from it."""
    if isinstance(value, bool):
        return (value, not value)
    if isinstance(value, str):
        return (value, value.swapcase(), value + "a", value[:-1])
    if isinstance(value, int):
        return [near for near in (value, value - 1, value + 1) if INT64_MIN <= near <= INT64_MAX] + [float(value)]
    return (value, value / 2, *([int(value)] if INT64_MIN <= value <= INT64_MAX else []))


DOMAINS: tuple[Domain, ...] = (
    IntDomain(),
    IntDomain(0, 0),
    IntDomain(-2, 3),
    IntDomain(0, 9),
    EnumDomain(("a", "A", "ab", "b")),
    EnumDomain((1, 2, 3)),
    EnumDomain(("a", 1, 2, True)),
    EnumDomain(("a",)),
    PlainDomain("float"),
    PlainDomain("bool"),
    PlainDomain("string"),
    PlainDomain("timestamp"),
)
TYPES = tuple(
    PublicationType(
        [Attribute(name, DOMAINS[(3 * i + shift) % len(DOMAINS)], many) for i, name in enumerate(ATTRIBUTES)]
    )
    for shift in range(len(DOMAINS))
    for many in (False, True)
)
publication_types: st.SearchStrategy[PublicationType] = st.sampled_from(TYPES)
"""Types that declare every attribute of the alphabet, each domain with and without lists."""


@cache
def domain_values(domain: Domain) -> st.SearchStrategy[Scalar]:
    """Values of a domain, in the form it stores."""
    if isinstance(domain, EnumDomain):
        return st.sampled_from(domain.values)
    if isinstance(domain, IntDomain):
        edges = sorted({domain.lo, domain.hi, max(domain.lo, min(domain.hi, 1)), max(domain.lo, domain.hi - 1)})
        return st.one_of(st.integers(domain.lo, domain.hi), st.sampled_from(edges))
    by_name: dict[str, st.SearchStrategy[Scalar]] = {
        "float": numbers,
        "bool": booleans,
        "string": strings,
        "timestamp": st.one_of(st.integers(0, 3), st.sampled_from((INT64_MIN, INT64_MAX))),
    }
    return by_name[domain.name]


@cache
def typed_predicates(attribute: Attribute) -> st.SearchStrategy[Predicate]:
    """Well-formed predicates that bind under the attribute's domain."""
    domain = attribute.domain
    values = domain_values(domain)
    kinds = set(map(kind, domain.values)) if isinstance(domain, EnumDomain) else {domain_kind(domain)}
    name, ops = st.just(attribute.name), st.sampled_from((Op.EQ, Op.NE))
    choices = [
        st.builds(Predicate, name, ops, st.tuples(values)),
        st.builds(
            Predicate, name, st.sampled_from((Op.IN, Op.NOT_IN)), st.lists(values, min_size=1, max_size=3).map(tuple)
        ),
        st.builds(Predicate, name, st.sampled_from((Op.EXISTS, Op.MISSING))),
    ]
    for kind_of in sorted(kinds - {Kind.BOOL, None}, key=str):
        if isinstance(domain, EnumDomain):
            ordered = st.sampled_from([value for value in domain.values if kind(value) is kind_of])
        else:
            ordered = values
        compare = st.sampled_from((Op.LT, Op.LE, Op.GT, Op.GE))
        choices.append(st.builds(Predicate, name, compare, st.tuples(ordered)))
        choices.append(st.builds(Predicate, name, st.just(Op.BETWEEN), st.tuples(ordered, ordered)))
        if kind_of is Kind.STRING:
            nocase = st.sampled_from((Op.EQ, Op.NE, Op.IN, Op.LT, Op.GE))
            parts = st.sampled_from((Op.STARTS, Op.ENDS, Op.CONTAINS))
            choices.append(st.builds(Predicate, name, nocase, st.tuples(ordered), st.just(True)))
            choices.append(st.builds(Predicate, name, parts, st.tuples(strings), booleans))
            choices.append(st.builds(Predicate, name, st.just(Op.LIKE), st.tuples(st.sampled_from(PATTERNS)), booleans))
            choices.append(
                st.builds(Predicate, name, st.just(Op.MATCHES), st.tuples(st.sampled_from(REGEXES)), booleans)
            )
    return st.one_of(choices)


@cache
def typed_expressions(type: PublicationType, size: int = 8) -> st.SearchStrategy[Expression]:
    """Conditions that bind under `type`."""
    return conditions(st.one_of([typed_predicates(attribute) for attribute in type.attributes.values()]), size)


@st.composite
def typed_events(draw: st.DrawFn, type: PublicationType) -> Event:
    """Events of a type, in the form `model.event.normalise` gives them."""
    event: Event = {}
    for attribute in type.attributes.values():
        size = draw(st.integers(0, 3)) if attribute.many else draw(st.integers(0, 1))
        if size:
            event[attribute.name] = tuple(draw(domain_values(attribute.domain)) for _ in range(size))
    return event


ORDERED = PublicationType(
    [
        Attribute("n", IntDomain(0, 9)),
        Attribute("f", PlainDomain("float")),
        Attribute("s", PlainDomain("string")),
        Attribute("t", PlainDomain("timestamp")),
        Attribute("e", EnumDomain((1, 2, 3, 4, 5, 6, 7, 8))),
        Attribute("ns", IntDomain(), many=True),
    ]
)
BOUNDS = (
    "< 3",
    "< 5",
    "< 7",
    "<= 3",
    "<= 5",
    "<= 7",
    "> 2",
    "> 3",
    "> 5",
    ">= 1",
    ">= 3",
    ">= 5",
    "= 3",
    "!= 5",
    "!= 8",
)


@st.composite
def bounds_on_one_attribute(draw: st.DrawFn) -> str:
    """Filters under `ORDERED` whose few bounds meet: they imply, exclude, touch and merge."""
    name = draw(st.sampled_from(("n", "n", "n", "f", "s", "t", "e", "ns")))
    bounds = draw(st.lists(st.sampled_from(BOUNDS), min_size=2, max_size=3))
    if name == "s":
        bounds = [f"{bound[:-1]}'{bound[-1]}'" for bound in bounds]
    text = ""
    for bound in bounds:
        joint = draw(st.sampled_from((" and ", " and ", " and ", " or "))) if text else ""
        text += joint + draw(st.sampled_from(("", "", "not "))) + f"{name} {bound}"
    return text


def ordered_events() -> list[Event]:
    """Events under `ORDERED` that hit every bound, miss it by little, or miss the attribute."""
    events: list[Event] = [{}]
    for value in range(10):
        events.append({"n": (value,), "e": (max(1, min(8, value)),), "t": (value,), "s": (str(value),)})
        events += [{"ns": (value, other)} for other in (0, 4, 9)]
    for half in range(-1, 20):
        events.append({"f": (half / 2,), "s": (str(half / 2),)})
    return events
