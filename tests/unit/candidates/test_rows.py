"""`Rows` against a dict of what was stored."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.candidates.rows import Rows, arranged, contradictory
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.subscriptions import MISSING, SubscriptionTable, encode_subscriptions
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import Literal

numbers = st.integers(0, 9)
predicates = st.one_of(
    st.builds(lambda a, v: Predicate(f"x{a}", Op.EQ, (v,)), numbers, numbers),
    st.builds(lambda a, v: Predicate(f"x{a}", Op.IN, tuple(v)), numbers, st.lists(numbers, min_size=2, unique=True)),
    st.builds(lambda a: Predicate(f"x{a}", Op.MISSING), numbers),
)
dnfs = st.lists(st.lists(predicates.map(Literal), max_size=4).map(tuple), max_size=2).map(tuple)


def stored(rows: Rows, row: int):
    """A row's owner and predicates with their sets spelled out."""
    c = rows.columns
    found = []
    for p in range(c.first[row], c.last[row]):
        lo, hi = int(c.lo[p]), int(c.hi[p])
        keys = tuple(c.sets[lo:hi].tolist()) if c.ops[p] > MISSING else (lo, hi)
        found.append((int(c.attrs[p]), int(c.ops[p]), keys))
    return int(c.owners[row]), found


def of_table(table: SubscriptionTable):
    whole = Rows()
    return [stored(whole, row) for row in whole.add(table)]


@settings(max_examples=60)
@given(st.lists(st.one_of(st.lists(dnfs, max_size=3), st.sets(numbers, max_size=3)), max_size=12))
def test_rows_hold_what_was_added(script):
    dictionary = Dictionary()
    rows = Rows()
    kept: dict[int, tuple[int, list[object]]] = {}
    owners: set[int] = set()
    for step in script:
        if isinstance(step, set):
            for row in rows.drop(np.array(sorted(step), np.int32)):
                assert kept.pop(int(row))[0] in step
            owners -= step
        else:
            free = [i for i in range(100) if i not in owners][: len(step)]
            table = encode_subscriptions(zip(free, step, strict=True), dictionary)
            kept |= dict(zip(rows.add(table).tolist(), of_table(table), strict=True))
        owners = {owner for owner, _ in kept.values()}
        assert {row: stored(rows, row) for row in rows.live_rows().tolist()} == kept
        assert (rows.live, rows.owners) == (len(kept), len(owners))
        assert (rows.repeating > 0) == (len(kept) > len(owners))


def test_removed_predicates_are_squeezed_out():
    dictionary = Dictionary()
    term = tuple(Literal(Predicate("x", Op.IN, (i, i + 1))) for i in range(10))
    table = encode_subscriptions([(i, (term,)) for i in range(400)], dictionary)
    rows = Rows()
    before = of_table(table)
    for _ in range(5):
        kept = dict(zip(rows.add(table).tolist(), before, strict=True))
        assert {row: stored(rows, row) for row in kept} == kept
        rows.drop(np.arange(400, dtype=np.int32))
    assert rows.predicates <= 3 * 4000
    assert len(rows.drop(np.array([7, 7, 999], np.int32))) == 0


@settings(max_examples=60)
@given(st.lists(dnfs, max_size=5), st.permutations(range(10)), st.booleans())
def test_arranged_keeps_predicates_and_leads_with_one_per_attribute(population, order, absence):
    dictionary = Dictionary()
    for i in range(10):
        dictionary.attribute(f"x{i}")
    table = encode_subscriptions(enumerate(population), dictionary)
    rank = np.array(order, np.int64)
    ordered, leading = arranged(table, rank, absence=absence)
    for (owner, before), (_, after), lead in zip(of_table(table), of_table(ordered), leading, strict=True):
        assert sorted(before) == sorted(after), owner
        wanted = {a for a, op, _ in before if absence or op != MISSING}
        assert [a for a, _, _ in after[:lead]] == sorted(wanted, key=lambda a: rank[a])
        assert absence or all(op != MISSING for _, op, _ in after[:lead])
    for (_, before), flag in zip(of_table(table), contradictory(table), strict=True):
        missing = {a for a, op, _ in before if op == MISSING}
        assert flag == bool(missing & {a for a, op, _ in before if op != MISSING})
