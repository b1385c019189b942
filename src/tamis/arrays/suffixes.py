"""Patterns found through the suffixes of a value: the suffix structure paper 004 proposes for text attributes.

A pattern occurs in a value where it is a prefix of one of the value's suffixes. The patterns are kept sorted, and each
knows the longest other pattern it begins with. Among the sorted patterns, the last one that is not above a suffix begins
with every pattern the suffix begins with: so one binary search and a walk along these links name them all. Paper 004
proposes a suffix tree for this; sorting the patterns asks the same question with arrays, and of many patterns at once.
"""

from bisect import bisect_right
from collections.abc import Iterator


class SuffixSearch:
    """`patterns` ascending, `number` the place of each in the list given, `shorter` the index of the longest other pattern
    that each begins with, or -1."""

    def __init__(self, patterns: list[str]) -> None:
        self.number = sorted(range(len(patterns)), key=patterns.__getitem__)
        self.patterns = [patterns[i] for i in self.number]
        self.longest = max(map(len, patterns), default=0)
        self.shorter: list[int] = []
        nested: list[int] = []  # the patterns the latest one begins with, shortest first, and itself
        for i, pattern in enumerate(self.patterns):
            while nested and not pattern.startswith(self.patterns[nested[-1]]):
                nested.pop()
            self.shorter.append(nested[-1] if nested else -1)
            nested.append(i)

    def find(self, value: str) -> Iterator[tuple[int, int, int]]:
        """(pattern, start, end) of every occurrence."""
        for start in range(len(value)):
            at = bisect_right(self.patterns, value[start : start + self.longest]) - 1
            while at >= 0 and not value.startswith(self.patterns[at], start):
                at = self.shorter[at]
            while at >= 0:
                yield self.number[at], start, start + len(self.patterns[at])
                at = self.shorter[at]
