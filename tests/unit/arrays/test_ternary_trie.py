"""Ternary search tries against a dict."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays.ternary_trie import code_points, look_up, new_trie

texts = st.text("abß日", min_size=1, max_size=5)


@settings(max_examples=100)
@given(st.lists(texts, unique=True, max_size=20), st.lists(texts, max_size=10))
def test_finds_what_was_put_in_and_nothing_else(known, asked):
    trie = new_trie(*code_points(known))
    for text in [*known, *asked]:
        chars, offsets = code_points([text])
        assert look_up(trie, chars, 0, offsets[1]) == (known.index(text) if text in known else -1)


def test_sorted_names_do_not_make_it_deep():
    names = [f"a{i:04}" for i in range(2000)]
    trie = new_trie(*code_points(names))
    depth, stack = 0, [(0, 1)]
    while stack:
        node, level = stack.pop()
        depth = max(depth, level)
        stack += [(int(n), level + 1) for n in (trie.lower[node], trie.equal[node], trie.higher[node]) if n >= 0]
    assert depth <= 40
