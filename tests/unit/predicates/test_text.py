"""Derived attributes against `satisfies`, before and after the automata are built."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.model.evaluate import satisfies
from tamis.model.predicate import Op, Predicate
from tamis.predicates import text as module
from tamis.predicates.text import TextIndex

texts = st.text(alphabet="aAbßs%_.\\é日", max_size=6)
patterns = st.text(alphabet="aAbßs%_\\é日", max_size=4)
values = st.one_of(texts, st.integers(-5, 5), st.integers(2**53 - 2, 2**63 - 1), st.booleans())


@st.composite
def predicates(draw):
    op = draw(
        st.sampled_from([Op.STARTS, Op.ENDS, Op.CONTAINS, Op.LIKE, Op.MATCHES, Op.LT, Op.BETWEEN, Op.NE, Op.NOT_IN])
    )
    if op is Op.MATCHES:
        return Predicate(
            "a", op, (draw(st.sampled_from(["a+b", "^A", "b$", "(?i)ß", "s|日", ""])),), draw(st.booleans())
        )
    count = 2 if op in (Op.BETWEEN, Op.NOT_IN) else 1
    operands = tuple(
        draw(st.one_of(patterns, st.just(2**60))) if op in (Op.LT, Op.NE) else draw(patterns) for _ in range(count)
    )
    return Predicate("a", op, operands, draw(st.booleans()))


@pytest.mark.parametrize(
    ("pending", "structure"), [(0, "ac"), (0, "suffix"), (1000, "ac")], ids=["automaton", "suffixes", "one-by-one"]
)
def test_derived_attributes_say_what_the_model_says(pending, structure, monkeypatch):
    monkeypatch.setattr(module, "PENDING", pending)

    @settings(max_examples=300)
    @given(st.lists(predicates(), max_size=8), st.lists(st.lists(values, min_size=1, max_size=2), max_size=3))
    def check(wanted, stream):
        dictionary = Dictionary()
        index = TextIndex(dictionary, structure)
        ids = {dictionary.derive(p): p for p in wanted}
        batch = index.extend(encode_events([{"a": tuple(vs)} for vs in stream], dictionary))
        for i, vs in enumerate(stream):
            found = set(batch.attrs[batch.offsets[i] : batch.offsets[i + 1]].tolist()) & ids.keys()
            assert found == {d for d, p in ids.items() if any(satisfies(p, v) for v in vs)}

    check()


def test_new_predicates_are_seen_by_the_next_batch():
    dictionary = Dictionary()
    index = TextIndex(dictionary)
    for i in range(200):
        derived = dictionary.derive(Predicate("a", Op.CONTAINS, (f"x{i}y",)))
        batch = index.extend(encode_events([{"a": (f"-x{i}y-",)}], dictionary))
        assert batch.attrs.tolist() == [0, derived]


def test_a_set_beyond_its_memory_still_answers():
    patterns = [(i, f"(x{i}|y{i * 7}.*z)[a-q]{{5}}") for i in range(50)]
    healthy, exhausted = module.RegexSet(patterns), module.RegexSet(patterns)
    exhausted.set = None
    assert list(healthy.search("-x5aaaaa-")) == list(exhausted.search("-x5aaaaa-")) == [5]
