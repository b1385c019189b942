"""The dictionary as an Arrow table, for saved indexes and for shipping it to other processes.

One column holds the interned strings in the order of their keys; everything else (attributes, derived predicates,
companions, the declared type) is small and travels as JSON in the schema's metadata.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.encoding.dictionary import Dictionary
from tamis.errors import StorageError
from tamis.model.predicate import Op, Predicate
from tamis.model.schema import Attribute, Domain, EnumDomain, IntDomain, PlainDomain, PublicationType

STATE = b"tamis.dictionary"
FORMAT = 1


def dictionary_to_arrow(dictionary: Dictionary) -> pa.Table:
    """The dictionary as it is now; later growth does not show."""
    strings = pa.array(list(dictionary.strings), pa.large_string())
    state = {
        "format": FORMAT,
        "names": list(dictionary.names),
        "derived": [
            [i, p.attribute, p.op.value, list(p.values), p.nocase] for i, p in list(dictionary.derived.items())
        ],
        "companions": list(dictionary.companions.items()),
        "type": type_state(dictionary.type) if dictionary.type else None,
    }
    return pa.table({"strings": strings}).replace_schema_metadata({STATE: json.dumps(state)})


def dictionary_from_arrow(table: pa.Table) -> Dictionary:
    """The dictionary that `dictionary_to_arrow` wrote, or a StorageError."""
    try:
        state = json.loads(table.schema.metadata[STATE])
        if state["format"] != FORMAT:
            raise StorageError(f"the dictionary has format {state['format']!r}; this version reads {FORMAT}")
        found = Dictionary(names=state["names"], type=read_type(state["type"]) if state["type"] else None)
        for i, attribute, op, values, nocase in state["derived"]:
            predicate = Predicate(attribute, Op(op), tuple(values), nocase)
            found.derived[i], found.derived_ids[predicate] = predicate, i
        found.companions = {int(base): int(i) for base, i in state["companions"]}
        own = found.derived.keys() | set(found.companions.values())
        found.ids = {name: i for i, name in enumerate(found.names) if i not in own}
        for i in sorted(found.derived):
            found.by_base.setdefault(found.ids[found.derived[i].attribute], []).append(i)
        strings = table.column("strings").to_pylist()
        found.strings = dict(zip(strings, range(1, len(strings) + 1), strict=True))
    except (KeyError, TypeError, ValueError) as problem:
        raise StorageError(f"this is not a saved dictionary, or a damaged one: {problem!r}") from problem
    return found


def save_dictionary(dictionary: Dictionary, path: Path) -> None:
    """Write the dictionary to one Arrow file."""
    table = dictionary_to_arrow(dictionary)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def load_dictionary(path: Path) -> Dictionary:
    """Read what `save_dictionary` wrote."""
    try:
        with pa.memory_map(str(path)) as source:
            return dictionary_from_arrow(pa.ipc.open_file(source).read_all())
    except (OSError, pa.ArrowInvalid) as problem:
        raise StorageError(f"cannot read the dictionary {path}: {problem}") from problem


def type_state(type: PublicationType) -> dict[str, Any]:
    """A publication type as plain data."""
    declared = [[a.name, domain_state(a.domain), a.many] for a in type.attributes.values()]
    return {"name": type.name, "attributes": declared}


def read_type(state: dict[str, Any]) -> PublicationType:
    """A publication type from plain data."""
    attributes = [Attribute(name, read_domain(domain), many) for name, domain, many in state["attributes"]]
    return PublicationType(attributes, state["name"])


def domain_state(domain: Domain) -> list[Any]:
    """A domain as plain data."""
    if isinstance(domain, IntDomain):
        return ["int", domain.lo, domain.hi]
    return ["enum", *domain.values] if isinstance(domain, EnumDomain) else [domain.name]


def read_domain(state: list[Any]) -> Domain:
    """A domain from plain data."""
    kind, *rest = state
    if kind == "int":
        return IntDomain(*rest)
    return EnumDomain(tuple(rest)) if kind == "enum" else PlainDomain(kind)
