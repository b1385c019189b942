"""Publication types as text: one `name: domain` per line, or the same pairs as TOML or JSON.

A domain is `int`, `int[0..100]`, `float`, `bool`, `string`, `timestamp` or `enum{a, b}`; a star after it (`string*`) lets
an event carry several values. TOML and JSON may nest (names become dotted) and may name the type:
`{"name": "camera", "attributes": {"price": "int[0..5000]"}}`.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import cast

from tamis.errors import FilterError, SchemaError, nearest
from tamis.lang.words import read_name, read_number, read_string, write_name, write_scalar
from tamis.model.schema import PLAIN_NAMES, Attribute, Domain, EnumDomain, IntDomain, PlainDomain, PublicationType
from tamis.model.values import INT64_MAX, INT64_MIN, Scalar

MAX_NESTING = 32
LINE = re.compile(r"\s*(?P<name>`(?:[^`]|``)+`|[^:`=]+?)\s*:\s*(?P<domain>.*)")
DOMAIN = re.compile(r"\s*(?P<name>\w+)\s*(?P<body>\[.*\]|\{.*\})?\s*(?P<many>\*?)\s*", re.DOTALL)
RANGE = re.compile(r"\[\s*(?P<lo>-?[0-9]*)\s*\.\.\s*(?P<hi>-?[0-9]*)\s*\]")
MEMBER = re.compile(r"""\s*('(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|[^,'"{}]+?)\s*(,|\})""", re.DOTALL)
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
SIMPLE = re.compile(r"[^\W\d][\w .-]*\w|[^\W\d]")


def parse_type(text: str, name: str = "publication") -> PublicationType:
    """A publication type from text in any of the three forms."""
    first = next((line.strip() for line in text.split("\n") if line.strip() and not line.strip().startswith("#")), "")
    if not first:
        raise SchemaError("the type declares no attribute; write lines such as `price: int[0..5000]`")
    if first.startswith("{"):
        return from_mapping(read_json(text), name)
    if first.startswith("[") or (LINE.match(first) is None and "=" in first):
        return from_mapping(read_toml(text), name)
    return PublicationType(read_lines(text), name)


def read_lines(text: str) -> Iterator[Attribute]:
    """Attributes from `name: domain` lines; blank lines and lines that start with # are skipped."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise SchemaError(f"line {number}: expected `name: domain`, found {line.strip()!r}")
        try:
            yield attribute(read_name(match["name"]), match["domain"])
        except SchemaError as problem:
            raise SchemaError(f"line {number}: {problem}") from None


def read_json(text: str) -> Mapping[str, object]:
    """A JSON object with unique keys."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated = next(key for key, _ in pairs if sum(other == key for other, _ in pairs) > 1)
            raise SchemaError(f"attribute {repeated!r} is declared twice")
        return found

    try:
        return cast(Mapping[str, object], json.loads(text, object_pairs_hook=unique))
    except (ValueError, RecursionError) as problem:
        raise SchemaError(f"the type is not valid JSON: {problem}") from None


def read_toml(text: str) -> Mapping[str, object]:
    """A TOML document."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        raise SchemaError(f"the type is not valid TOML: {problem}") from None


def from_mapping(raw: Mapping[str, object], name: str = "publication") -> PublicationType:
    """A type from nested mappings of names to domains, alone or under `attributes` beside a `name`."""
    attributes = raw.get("attributes")
    if isinstance(attributes, Mapping):
        unknown = set(raw) - {"name", "attributes"}
        if unknown:
            raise SchemaError(f"a type has `name` and `attributes`, not {sorted(unknown)[0]!r}")
        return PublicationType(walk(attributes), str(raw.get("name", name)))
    return PublicationType(walk(raw), name)


def walk(raw: Mapping[str, object], prefix: str = "") -> Iterator[Attribute]:
    """Attributes of nested mappings under dotted names."""
    if prefix.count(".") > MAX_NESTING:
        raise SchemaError(f"the type is nested deeper than {MAX_NESTING} levels")
    for key, value in raw.items():
        if isinstance(value, Mapping):
            yield from walk(value, f"{prefix}{key}.")
        elif isinstance(value, str):
            yield attribute(prefix + key, value)
        else:
            raise SchemaError(f"attribute {prefix + key!r}: a domain is text such as 'int[0..100]', not {value!r}")


def attribute(name: str, text: str) -> Attribute:
    """A declaration from a name and the text of a domain."""
    try:
        domain, many = parse_domain(text)
    except SchemaError as problem:
        raise SchemaError(f"attribute {name!r}: {problem}") from None
    return Attribute(name, domain, many)


def parse_domain(text: str) -> tuple[Domain, bool]:
    """A domain and whether it was starred."""
    match = DOMAIN.fullmatch(text)
    if match is None:
        raise SchemaError(
            f"{text.strip()!r} is not a domain (int, int[lo..hi], float, bool, string, timestamp, enum{{a, b}})"
        )
    name, body, many = match["name"], match["body"] or "", bool(match["many"])
    if name == "enum":
        return EnumDomain(tuple(read_members(body))), many
    if name == "int":
        return (read_range(body) if body else IntDomain()), many
    if name not in PLAIN_NAMES:
        raise SchemaError(f"there is no domain {name!r}{nearest(name, ('int', 'enum', *PLAIN_NAMES))}")
    if body:
        raise SchemaError(f"{name} takes no {body}")
    return PlainDomain(name), many  # type: ignore[arg-type]


def read_range(body: str) -> IntDomain:
    """`[lo..hi]`; either end may be left out."""
    match = RANGE.fullmatch(body)
    if match is None or "-" in (match["lo"], match["hi"]) or max(map(len, match.groups())) > 20:
        raise SchemaError(f"{body} is not a range of integers such as [0..100]")
    return IntDomain(int(match["lo"] or INT64_MIN), int(match["hi"] or INT64_MAX))


def read_members(body: str) -> Iterator[Scalar]:
    """Members between braces: numbers, true, false, quoted text, or plain words."""
    at, ended = 1, body == ""
    while not ended:
        match = MEMBER.match(body, at)
        if match is None:
            raise SchemaError(f"enum{body} is not a list of members such as enum{{small, large}}")
        at, ended = match.end(), match[2] == "}"
        yield read_member(match[1])
    if at != max(1, len(body)):
        raise SchemaError(f"enum{body} goes on after its closing brace")


def read_member(text: str) -> Scalar:
    """One member of an enum."""
    try:
        if text[0] in "'\"":
            return read_string(text)
        if text in ("true", "false"):
            return text == "true"
        return read_number(text) if NUMBER.fullmatch(text) else text
    except FilterError as problem:
        raise SchemaError(str(problem)) from None


def show_type(type: PublicationType) -> str:
    """The type as text that `parse_type` reads back: lines, or JSON if a name could not stand on one line."""
    shown = {a.name: show_domain(a.domain) + "*" * a.many for a in type.attributes.values()}
    if any("\n" in name for name in shown):
        return json.dumps({"attributes": shown})
    return "".join(f"{write_name(name)}: {domain}\n" for name, domain in shown.items())


def show_domain(domain: Domain) -> str:
    """A domain as `parse_domain` reads it: like its `str`, with members in quotes where they need them."""
    return f"enum{{{', '.join(map(show_member, domain.values))}}}" if isinstance(domain, EnumDomain) else str(domain)


def show_member(value: Scalar) -> str:
    """One member of an enum."""
    plain = isinstance(value, str) and SIMPLE.fullmatch(value) and value not in ("true", "false")
    return str(value) if plain else write_scalar(value)
