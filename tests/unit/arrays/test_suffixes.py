"""Suffix search against plain search, and what its links promise."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays.suffixes import SuffixSearch

texts = st.text("ab\u00e9\U0001f600", min_size=1, max_size=5)
pattern_lists = st.lists(texts, unique=True, max_size=30)


@settings(max_examples=300)
@given(pattern_lists, st.text("ab\u00e9\U0001f600", max_size=12))
def test_finds_every_occurrence(patterns, value):
    expected = [
        (number, start, start + len(pattern))
        for number, pattern in enumerate(patterns)
        for start in range(len(value))
        if value.startswith(pattern, start)
    ]
    assert sorted(SuffixSearch(patterns).find(value)) == sorted(expected)


@settings(max_examples=300)
@given(pattern_lists)
def test_patterns_are_sorted_and_linked_to_the_longest_they_begin_with(patterns):
    index = SuffixSearch(patterns)
    assert index.patterns == sorted(patterns)
    assert [patterns[i] for i in index.number] == index.patterns
    for pattern, shorter in zip(index.patterns, index.shorter, strict=True):
        prefixes = [other for other in patterns if other != pattern and pattern.startswith(other)]
        assert (index.patterns[shorter] if shorter >= 0 else None) == max(prefixes, key=len, default=None)
