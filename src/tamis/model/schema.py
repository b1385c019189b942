"""Publication types: which attributes an event may carry and from which domain each takes its values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal as OneOf
from typing import TypeAlias

from tamis.errors import BindError, EventError, SchemaError, TamisError, nearest
from tamis.model.values import INT64_MAX, INT64_MIN, Kind, Scalar, check_scalar, kind, same

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class IntDomain:
    """`int` or `int[lo..hi]`, both ends included."""

    lo: int = INT64_MIN
    hi: int = INT64_MAX

    @property
    def finite(self) -> bool:
        """Whether bounds were declared."""
        return (self.lo, self.hi) != (INT64_MIN, INT64_MAX)

    def __str__(self) -> str:
        return f"int[{self.lo}..{self.hi}]" if self.finite else "int"


@dataclass(frozen=True, slots=True, eq=False)
class EnumDomain:
    """`enum{a, b, …}`: a finite set of strings, numbers or booleans."""

    values: tuple[Scalar, ...]

    @property
    def identity(self) -> tuple[object, ...]:
        """The values, with `1` and `true` kept apart."""
        return tuple((isinstance(value, bool), value) for value in self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumDomain) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __str__(self) -> str:
        return "enum{" + ", ".join(map(str, self.values)) + "}"


@dataclass(frozen=True, slots=True)
class PlainDomain:
    """`float`, `bool`, `string` or `timestamp`. A timestamp is an ISO 8601 text or microseconds since 1970 (UTC)."""

    name: OneOf["float", "bool", "string", "timestamp"]

    def __str__(self) -> str:
        return self.name


PLAIN_NAMES = ("float", "bool", "string", "timestamp")

Domain: TypeAlias = IntDomain | EnumDomain | PlainDomain


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared attribute. `many` allows a list of values; without it conditions on the attribute simplify further."""

    name: str
    domain: Domain
    many: bool = False


class PublicationType:
    """A named set of attributes with unique names."""

    def __init__(self, attributes: Iterable[Attribute] | Mapping[str, Domain], name: str = "publication") -> None:
        if isinstance(attributes, Mapping):
            attributes = [Attribute(n, d) for n, d in attributes.items()]
        self.name = name
        self.attributes: dict[str, Attribute] = {}
        for attribute in attributes:
            if not attribute.name:
                raise SchemaError(f"type {name}: an attribute has an empty name")
            check_scalar(attribute.name, f"type {name}: an attribute name", SchemaError)
            if attribute.name in self.attributes:
                raise SchemaError(f"type {name}: attribute {attribute.name!r} is declared twice")
            check_domain(attribute)
            self.attributes[attribute.name] = attribute

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicationType) and self.attributes == other.attributes

    def __hash__(self) -> int:
        return hash(frozenset(self.attributes.values()))

    def attribute(self, name: str, error: type[TamisError] = BindError) -> Attribute:
        """The declaration of `name`, or an error that suggests the nearest declared name."""
        if name not in self.attributes:
            raise error(f"type {self.name} has no attribute {name!r}{nearest(name, self.attributes)}")
        return self.attributes[name]

    def admit(self, name: str, value: object, error: type[TamisError] = EventError) -> Scalar:
        """`value` in the form its domain stores, or an error naming attribute, value and domain."""
        return admit(self.attribute(name, error), value, error)


def check_domain(attribute: Attribute) -> None:
    """Refuse an empty or malformed domain."""
    domain = attribute.domain
    if isinstance(domain, PlainDomain) and domain.name not in PLAIN_NAMES:
        raise SchemaError(
            f"attribute {attribute.name!r}: there is no domain {domain.name!r}{nearest(domain.name, PLAIN_NAMES)}"
        )
    if isinstance(domain, IntDomain) and not INT64_MIN <= domain.lo <= domain.hi <= INT64_MAX:
        raise SchemaError(f"attribute {attribute.name!r}: {domain} is empty or does not fit in 64 bits")
    if isinstance(domain, EnumDomain):
        if not domain.values:
            raise SchemaError(f"attribute {attribute.name!r}: an enum needs at least one value")
        for i, value in enumerate(domain.values):
            check_scalar(value, f"attribute {attribute.name!r}", SchemaError)
            if any(same(value, other) for other in domain.values[:i]):
                raise SchemaError(f"attribute {attribute.name!r}: the enum repeats {value!r}")


def admit(attribute: Attribute, value: object, error: type[TamisError] = EventError) -> Scalar:
    """`value` in the form the attribute's domain stores, or an error naming attribute, value and domain."""
    domain = attribute.domain
    if isinstance(domain, PlainDomain) and domain.name == "timestamp":
        return timestamp(attribute, value, error)
    scalar = check_scalar(value, f"attribute {attribute.name!r}", error)
    if not belongs(scalar, domain):
        raise error(f"attribute {attribute.name!r}: {scalar!r} is outside its domain {domain}")
    return int(scalar) if isinstance(domain, IntDomain) else scalar


def belongs(value: Scalar, domain: Domain) -> bool:
    """Whether a scalar is a member of a domain (timestamps apart)."""
    if isinstance(domain, IntDomain):
        whole = not isinstance(value, (bool, str)) and value == int(value)
        return whole and domain.lo <= value <= domain.hi  # type: ignore[operator]
    if isinstance(domain, EnumDomain):
        return any(same(value, member) for member in domain.values)
    if domain.name == "float":
        return not isinstance(value, (bool, str))
    return isinstance(value, bool if domain.name == "bool" else str)


def timestamp(attribute: Attribute, value: object, error: type[TamisError]) -> int:
    """Microseconds since 1970 from an aware datetime, an ISO 8601 text (UTC when it names no zone), or an integer."""
    moment: object = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - EPOCH) // timedelta(microseconds=1)
    if isinstance(moment, int) and not isinstance(moment, bool) and INT64_MIN <= moment <= INT64_MAX:
        return moment
    raise error(f"attribute {attribute.name!r}: {value!r} is outside its domain timestamp (ISO 8601 or microseconds)")


def domain_kind(domain: Domain) -> Kind | None:
    """The kind all values of a domain share, or None for a mixed enum."""
    if isinstance(domain, EnumDomain):
        kinds = set(map(kind, domain.values))
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(domain, IntDomain) or domain.name in ("float", "timestamp"):
        return Kind.NUMBER
    return Kind.BOOL if domain.name == "bool" else Kind.STRING
