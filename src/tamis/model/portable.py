"""Publication types as plain data (for JSON manifests) and back."""

from typing import Any

from tamis.errors import SchemaError
from tamis.model.schema import Attribute, Domain, EnumDomain, IntDomain, PlainDomain, PublicationType


def type_to_data(type: PublicationType) -> dict[str, Any]:
    """A type as nested dicts and lists."""
    rows = [{"name": a.name, "many": a.many, "domain": domain_to_data(a.domain)} for a in type.attributes.values()]
    return {"name": type.name, "attributes": rows}


def type_from_data(data: dict[str, Any]) -> PublicationType:
    """The type behind `type_to_data`."""
    try:
        rows = [Attribute(row["name"], domain_from_data(row["domain"]), row["many"]) for row in data["attributes"]]
        return PublicationType(rows, data["name"])
    except (KeyError, TypeError, ValueError) as problem:
        raise SchemaError(f"not the description of a publication type: {problem!r}") from problem


def domain_to_data(domain: Domain) -> dict[str, Any]:
    """A domain as a dict that names its kind."""
    if isinstance(domain, IntDomain):
        return {"kind": "int", "lo": domain.lo, "hi": domain.hi}
    if isinstance(domain, EnumDomain):
        return {"kind": "enum", "values": list(domain.values)}
    return {"kind": domain.name}


def domain_from_data(data: dict[str, Any]) -> Domain:
    """The domain behind `domain_to_data`."""
    kind = data["kind"]
    if kind == "int":
        return IntDomain(data["lo"], data["hi"])
    if kind == "enum":
        return EnumDomain(tuple(data["values"]))
    if kind not in ("float", "bool", "string", "timestamp"):
        raise ValueError(f"unknown kind of domain {kind!r}")
    return PlainDomain(kind)
