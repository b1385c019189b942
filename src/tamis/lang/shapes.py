"""Filters that differ only in their constants are read once.

`shape_of` splits a text into its shape (the text with every string as `''` and every number as `0`) and its constants, with
one compiled expression and no parser. `ShapeCache` keeps one template per shape and fills the constants in; whatever it
cannot take that way (a fault, a constant out of range) goes the ordinary way through parser, binding and normal form, so
results and errors are the same either way. A bulk encoder asks for `lookup` and works on all filters of a template at once.

A template costs as much as a hundred fillings, so a conjunction gets one only when its shape has come often; until then it is
put together from the templates of its predicates, which are few whatever the attributes are called (`parts.py`).
"""

import re
from dataclasses import replace
from functools import lru_cache

from tamis.errors import FilterError, TamisError
from tamis.lang.bind import bind, map_atoms
from tamis.lang.markers import MARK, bind_markers, negative_slots, number_marker, raise_upper, text_marker
from tamis.lang.normalise import normalise, simplify
from tamis.lang.parse import parse
from tamis.lang.parts import AND, DEEP, form_of
from tamis.lang.passes.dnf import expand
from tamis.lang.passes.negation import push_down
from tamis.lang.size import check_text
from tamis.lang.slots import Constants
from tamis.lang.templates import Template
from tamis.lang.words import read_number, read_string
from tamis.model.limits import Limits
from tamis.model.schema import PublicationType
from tamis.model.subscription import Dnf, atoms
from tamis.model.values import Scalar, check_scalar

# Strings, quoted names, and numbers that stand alone: not the digits of a name, a variable or a malformed number.
CONSTANT = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)+`|(?<![\w.?])[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))""",
    re.DOTALL,
)
OFTEN = 32
"""Times a shape has come before a conjunction gets a template of its own."""
MET = 1 << 16
"""Shapes that are counted before counting starts over."""


def shape_of(text: str) -> tuple[str, Constants]:
    """The shape of a filter and its constants without their signs; FilterError for a constant that is no scalar."""
    parts = CONSTANT.split(text)
    constants: list[Scalar] = []
    for i in range(1, len(parts), 2):
        raw = parts[i]
        first = raw[0]
        if first == "'" or first == '"':
            value: Scalar = read_string(raw)
            if not raw.isascii() or first == '"':
                value = check_scalar(value, "a constant", FilterError)
            parts[i] = "''"
        elif first == "`":
            continue
        else:
            value = int(raw) if raw.isdigit() and len(raw) < 19 else read_number(raw)
            parts[i] = "0"
        constants.append(value)
    return "".join(parts), tuple(constants)


class ShapeCache:
    """Normal forms of many filters under one publication type and one set of limits. May be shared by threads."""

    def __init__(self, type: PublicationType | None = None, limits: Limits = Limits(), capacity: int = 4096) -> None:
        self.type, self.limits = type, limits
        self.template = lru_cache(capacity)(self._template)
        self.part = lru_cache(4 * capacity)(self._part)
        self.met: dict[int, int] = {}

    def normalise(self, text: str) -> Dnf:
        """What `normalise(bind(parse(text)))` gives, sooner."""
        check_text(text, self.limits)
        try:
            key, constants = shape_of(text)
        except FilterError:
            return self._slowly(text)
        found = None if self._often(key) else self._by_parts(key, constants)
        if found is None:
            template = self.template(key)
            ready = None if template is None else template.prepare(constants)
            found = None if template is None or ready is None else template.fill(ready)
        return self._slowly(text) if found is None else found

    def lookup(self, text: str) -> tuple[Template, Constants] | None:
        """The template of a filter and its prepared constants, or None: the filter must be read by itself."""
        check_text(text, self.limits)
        try:
            key, constants = shape_of(text)
        except FilterError:
            return None
        template = self.template(key)
        ready = None if template is None else template.prepare(constants)
        return None if template is None or ready is None else (template, ready)

    def _slowly(self, text: str) -> Dnf:
        """The ordinary way."""
        expression = parse(text, self.limits)
        if self.type is not None:
            expression = bind(expression, self.type, self.limits)
        return normalise(expression, self.type, self.limits)

    def _often(self, key: str) -> bool:
        """Whether a shape has come often enough for a template of its own."""
        number = hash(key)
        times = self.met.get(number, 0)
        if times < OFTEN:
            if len(self.met) >= MET:
                self.met = {}
            self.met[number] = times + 1
        return times >= OFTEN

    def _by_parts(self, key: str, constants: Constants) -> Dnf | None:
        """The normal form of a conjunction of single predicates from theirs, or None if the shape is anything else."""
        limits, parts = self.limits, AND.split(key)
        if not 1 < len(parts) <= limits.predicates or limits.depth < DEEP or not limits.terms:
            return None
        filled: list[tuple[Template, Constants, str]] = []
        attributes: set[str] = set()
        at, fit = 0, True
        for part in parts:
            found = self.part(part)
            if found is None:
                return None
            template, attribute = found
            ready = template.prepare(constants[at : at + template.width])
            if ready is None:
                return None
            at += template.width
            fit = fit and template.guards.allow(ready)
            attributes.add(attribute)
            filled.append((template, ready, attribute))
        if fit and len(attributes) == len(filled):  # nothing that simplification could see in the whole alone
            return (tuple([template.simple.literals[0].fill(ready, name) for template, ready, name in filled]),)
        whole = tuple([template.raw.literals[0].fill(ready, name) for template, ready, name in filled])
        return simplify((whole,), self.type)

    def _part(self, text: str) -> tuple[Template, str] | None:
        """The template of one predicate of a conjunction, and the attribute it is about; None if it is no such thing."""
        form, name = form_of(text) if self.type is None else (text, None)
        template = self.template(form)
        return None if template is None or template.lone is None else (template, name or template.lone)

    def _template(self, key: str) -> Template | None:
        """The template of a shape, or None if its filters are at fault or cannot be told from markers."""
        if MARK in key:
            return None
        parts = CONSTANT.split(key)
        slot = 0
        for i in range(1, len(parts), 2):
            if not parts[i].startswith("`"):
                parts[i] = f"'{text_marker(slot)}'" if parts[i] == "''" else str(number_marker(slot))
                slot += 1
        marked = "".join(parts)
        try:
            parsed = parse(marked, replace(self.limits, filter_bytes=4 * len(marked)))
            bound = map_atoms(parsed, lambda atom: bind_markers(atom, self.type))
            dnf = raise_upper(expand(push_down(bound, self.type), self.limits))
        except TamisError:
            return None
        minus = [slot for atom in atoms(parsed) for slot in negative_slots(atom)]
        return Template(bound, dnf, self.type, minus, slot)
