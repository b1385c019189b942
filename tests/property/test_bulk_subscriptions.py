"""Predicate rows give the table that `TableBuilder` makes of the same predicates."""

from copy import deepcopy

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.worlds import populations

from tamis.encoding.bulk_subscriptions import LISTS, PREDICATE_SCHEMA, SCALARS, encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.subscriptions import FIRST_SET, encode_subscriptions
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal

FIELD = {int: "integer", float: "float", str: "string", bool: "bool"}
ORDER = [int, float, str, bool]


def row(owner, number, literal):
    predicate = literal.atom
    found = {"subscription": owner, "conjunction": number, "attribute": predicate.attribute}
    found |= {"operator": predicate.op.value, "negated": literal.negated, "nocase": predicate.nocase}
    if predicate.op in (Op.IN, Op.NOT_IN):
        for value in predicate.values:
            found.setdefault(FIELD[type(value)] + "s", []).append(value)
    else:
        for prefix, value in zip(("", "upper_"), predicate.values, strict=False):
            found[prefix + FIELD[type(value)]] = value
    return found


def grouped(literal):
    """Members of `in` in the order of the list columns: order has no meaning, but a derived predicate keeps it."""
    p = literal.atom
    if p.op not in (Op.IN, Op.NOT_IN):
        return literal
    values = sorted(p.values, key=lambda v: ORDER.index(type(v)))
    return Literal(Predicate(p.attribute, p.op, tuple(values), p.nocase), literal.negated)


def members(table):
    return [table.sets[a:b].tolist() for a, b, op in zip(table.lo, table.hi, table.ops, strict=True) if op >= FIRST_SET]


@settings(max_examples=400)
@given(populations, st.randoms(use_true_random=False))
def test_equals_the_builder(population, shuffler):
    population = [tuple(tuple(map(grouped, term)) for term in dnf) for dnf in population]
    rows = [
        [row(i, n, literal) for literal in term] or [{"subscription": i, "conjunction": n}]
        for i, dnf in enumerate(population)
        for n, term in enumerate(dnf)
    ]
    shuffler.shuffle(rows)
    dictionary = Dictionary()
    table = pa.Table.from_pylist([r for term in rows for r in term], schema=PREDICATE_SCHEMA)
    bulk = encode_predicates(table, dictionary)
    known = deepcopy(dictionary)
    built = encode_subscriptions(enumerate(population), known)
    assert known == dictionary, "both must name the same attributes, strings and derived predicates"
    for name in ("owners", "offsets", "attrs", "ops"):
        assert np.array_equal(getattr(bulk, name), getattr(built, name)), name
        assert getattr(bulk, name).dtype == getattr(built, name).dtype
    plain = bulk.ops < FIRST_SET
    assert np.array_equal(bulk.lo[plain], built.lo[plain])
    assert np.array_equal(bulk.hi[plain], built.hi[plain])
    assert members(bulk) == members(built)


def test_the_columns_are_those_of_the_documentation():
    assert set(SCALARS) | set(LISTS) <= set(PREDICATE_SCHEMA.names)
