"""The delta of changes: rows that arrive one by one always find room."""

import numpy as np

from tamis.candidates.delta import Delta
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal

MANY = 5000  # beyond several doublings of every column


def test_single_rows_never_outgrow_a_column():
    dictionary = Dictionary()
    dnfs = [((Literal(Predicate("a", Op.EQ, (i % 7,))), Literal(Predicate("b", Op.LT, (i,)))),) for i in range(MANY)]
    whole = encode_subscriptions(enumerate(dnfs), dictionary)
    delta = Delta(len(dictionary))
    for i in range(MANY):
        delta.insert(whole.take(np.array([i])))
        rows, count = delta.view
        assert len(rows.offsets) > len(rows.owners) >= count
        assert rows.offsets[count] <= len(rows.attrs)
    held = delta.table(dictionary)
    assert held.owners.tolist() == whole.owners.tolist()
    assert held.offsets.tolist() == whole.offsets.tolist()
    assert (held.lo == whole.lo).all()
    assert (held.hi == whole.hi).all()
