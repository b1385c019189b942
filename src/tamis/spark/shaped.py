"""Filters of one shape as columns: what they have in common is said once, their constants become arrays.

A filter whose constants fit its template (`lang/templates.py`) is never made into model objects: the constants of all such
filters go slot by slot into predicate rows, which `bulk_subscriptions` encodes.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.encoding.bulk_subscriptions import PREDICATE_SCHEMA, encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import Int64Array
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.lang.slots import Constants, SlotLiteral
from tamis.lang.templates import Template
from tamis.model.predicate import Op, Predicate

NAMES: dict[type, str] = {bool: "bool", int: "integer", float: "float", str: "string"}


@dataclass
class Group:
    """The filters of one template: their rows, and for each the constants of its slots."""

    template: Template
    rows: list[int] = field(default_factory=list)
    constants: list[Constants] = field(default_factory=list)


class Shaped:
    """Collects filters by template."""

    def __init__(self) -> None:
        self.groups: dict[int, Group] = {}

    def add(self, row: int, template: Template, constants: Constants) -> bool:
        """Take a filter in, if its template alone decides its normal form."""
        group = self.groups.get(id(template))
        if group is None:
            if not columnar(template):
                return False
            group = self.groups[id(template)] = Group(template)
        if not template.fits(constants):
            return False
        group.rows.append(row)
        group.constants.append(constants)
        return True

    def encode(self, dense: Int64Array, dictionary: Dictionary) -> SubscriptionTable:
        """The table of all filters taken in; dense[row] is the owner of row's filter."""
        tables = [part for group in self.groups.values() if group.rows for part in group_rows(group, dense)]
        if not tables:
            return SubscriptionTable.empty(dictionary)
        return encode_predicates(pa.concat_tables(tables), dictionary)


def columnar(template: Template) -> bool:
    """Whether every literal is a plain predicate on an attribute; lists go the other way."""
    return template.guards.possible and all(
        isinstance(part.literal.atom, Predicate) and part.literal.atom.op not in (Op.IN, Op.NOT_IN)
        for part in template.simple.literals
    )


def group_rows(group: Group, dense: Int64Array) -> list[pa.Table]:
    """Predicate rows of one template, one table per literal of each conjunction."""
    owners = pa.array(dense[group.rows].astype(np.int32))
    slots = list(zip(*group.constants, strict=True)) if group.constants[0] else []
    tables = []
    for number, term in enumerate(group.template.simple.terms):
        literals = [literal_columns(group.template.simple.literals[place], slots, len(owners)) for place in term]
        tables += [rows_of(owners, number, columns) for columns in literals or [{}]]
    return tables


def literal_columns(part: SlotLiteral, slots: list[tuple[Any, ...]], count: int) -> dict[str, pa.Array]:
    """The columns one literal fills, for all filters of the group."""
    predicate = part.literal.atom
    assert isinstance(predicate, Predicate)
    said: dict[str, Any] = {"attribute": predicate.attribute, "operator": predicate.op.value}
    said |= {"negated": part.literal.negated, "nocase": predicate.nocase}
    columns = {
        name: pa.repeat(pa.scalar(value, PREDICATE_SCHEMA.field(name).type), count) for name, value in said.items()
    }
    for prefix, slot, step, fixed in zip(("", "upper_"), part.slots, part.steps, predicate.values, strict=False):
        values = [fixed] * count if slot is None else [v + step for v in slots[slot]] if step else slots[slot]
        kinds = set(map(type, values))
        for kind in kinds:
            name = prefix + NAMES[kind]
            column = values if len(kinds) == 1 else [v if type(v) is kind else None for v in values]
            columns[name] = pa.array(column, PREDICATE_SCHEMA.field(name).type)
    return columns


def rows_of(owners: pa.Array, number: int, columns: dict[str, pa.Array]) -> pa.Table:
    """Predicate rows with every column of the schema."""
    given = {"subscription": owners, "conjunction": pa.repeat(pa.scalar(number, pa.int32()), len(owners)), **columns}
    parts = [given.get(f.name) for f in PREDICATE_SCHEMA]
    filled = [pa.nulls(len(owners), f.type) if p is None else p for p, f in zip(parts, PREDICATE_SCHEMA, strict=True)]
    return pa.table(filled, schema=PREDICATE_SCHEMA)
