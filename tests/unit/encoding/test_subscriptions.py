import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.worlds import dnfs

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import KEY_MAX, KEY_MIN, NUMBER_MAX, NUMBER_MIN, TRUE, number_key
from tamis.encoding.subscriptions import (
    ALL,
    IN,
    IN_SET,
    MISSING,
    NONE,
    NONE_SET,
    OUT,
    SubscriptionTable,
    encode_subscriptions,
)
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal


def rows(*literals):
    table = encode_subscriptions([(0, (tuple(literals),))], Dictionary())
    return [tuple(map(int, row)) for row in zip(table.attrs, table.ops, table.lo, table.hi, strict=True)], table


@pytest.mark.parametrize(
    ("op", "values", "row"),
    [
        (Op.EQ, (5,), (IN, number_key(5), number_key(5))),
        (Op.NE, (5,), (OUT, number_key(5), number_key(5))),
        (Op.LT, (5,), (IN, NUMBER_MIN, number_key(5) - 1)),
        (Op.GE, (0.5,), (IN, number_key(0.5), NUMBER_MAX)),
        (Op.BETWEEN, (1, 2), (IN, number_key(1), number_key(2))),
        (Op.EXISTS, (), (IN, KEY_MIN, KEY_MAX)),
        (Op.MISSING, (), (MISSING, 0, 0)),
        (Op.IN, (3,), (IN, number_key(3), number_key(3))),
    ],
)
def test_predicates_become_intervals(op, values, row):
    found, _ = rows(Literal(Predicate("a", op, values)))
    assert found == [(0, *row)]


def test_negation_quantifies_over_all_values():
    found, _ = rows(
        Literal(Predicate("a", Op.EQ, (5,)), True),
        Literal(Predicate("a", Op.NE, (5,)), True),
        Literal(Predicate("a", Op.IN, (1, 2)), True),
        Literal(Predicate("a", Op.EXISTS), True),
    )
    assert [row[1] for row in found] == [NONE, ALL, NONE_SET, MISSING]


def test_sets_are_ascending_slices():
    found, table = rows(Literal(Predicate("a", Op.IN, (3, 1, 2, 1))))
    _, code, lo, hi = found[0]
    assert code == IN_SET
    assert table.sets[lo:hi].tolist() == [number_key(v) for v in (1, 2, 3)]


def test_text_becomes_a_derived_attribute():
    found, table = rows(Literal(Predicate("a", Op.CONTAINS, ("x",))), Literal(Predicate("a", Op.LIKE, ("%",)), True))
    assert found == [(1, IN, TRUE, TRUE), (0, IN, KEY_MIN, KEY_MAX), (2, MISSING, 0, 0)]
    assert table.dictionary.by_base == {0: [1, 2]}


def test_huge_equality_uses_the_companion():
    found, table = rows(Literal(Predicate("id", Op.EQ, (2**60 + 1,))))
    assert found[0][0] == table.dictionary.companions[0]


@given(st.lists(dnfs, max_size=6), st.lists(dnfs, max_size=6), st.data())
def test_concat_take_and_without(left, right, data):
    dictionary = Dictionary()
    first = encode_subscriptions(enumerate(left), dictionary)
    second = encode_subscriptions(enumerate(right, start=len(left)), dictionary)
    both = SubscriptionTable.concat([first, second])
    assert describe(both) == describe(first) + describe(second)
    chosen = data.draw(st.lists(st.integers(0, max(0, len(both) - 1)), max_size=5)) if len(both) else []
    assert describe(both.take(np.array(chosen, np.intp))) == [describe(both)[i] for i in chosen]
    gone = np.array([0, 3], np.int32)
    assert describe(both.without(gone)) == [row for row in describe(both) if row[0] not in gone]


def describe(table):
    """Conjunctions with sets resolved, so that tables compare by meaning."""
    return [
        (
            int(table.owners[i]),
            [
                (int(table.attrs[p]), int(table.ops[p]), *operand(table, p))
                for p in range(table.offsets[i], table.offsets[i + 1])
            ],
        )
        for i in range(len(table))
    ]


def operand(table, p):
    lo, hi = int(table.lo[p]), int(table.hi[p])
    return (tuple(table.sets[lo:hi].tolist()),) if table.ops[p] >= IN_SET else (lo, hi)
