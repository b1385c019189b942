"""Derived attributes: which predicates beyond keys (patterns, string order, `nocase`, huge numbers) a value satisfies.

Per base attribute one structure over all patterns serves `contains`, `starts with` and `ends with`: an Aho-Corasick
automaton, or the suffix search of `arrays/suffixes.py`. RE2 sets serve `matches` and `like`, and the few predicates left are
tested one by one; each has a twin over case-folded text for `nocase`. Values met before are answered from a bounded memo.
New predicates are tested one by one until enough of them pay for a rebuild.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import re2
from ahocorasick_rs import AhoCorasick

from tamis.arrays.suffixes import SuffixSearch
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import TRUE, coarse
from tamis.model.evaluate import fold, like_tokens, regex_options, satisfies
from tamis.model.predicate import Op, Predicate
from tamis.model.values import Scalar

PARTS = frozenset({Op.STARTS, Op.ENDS, Op.CONTAINS})
PENDING = 64
MEMO_SIZE, MEMO_TEXT = 65536, 512
SET_SIZE = 512
AUTOMATON = "ac"


class Finder(Protocol):
    """Finds patterns in a value."""

    def find(self, value: str) -> Iterable[tuple[int, int, int]]:
        """(pattern, start, end) of every occurrence."""
        ...


class TextIndex:
    """Adds derived attributes and exact companions to event batches; follows the dictionary as it grows.

    `structure` is one of FINDERS."""

    def __init__(self, dictionary: Dictionary, structure: str = AUTOMATON) -> None:
        self.dictionary, self.finder = dictionary, FINDERS[structure]
        self.bases: dict[int, BaseIndex] = {}

    def extend(self, batch: EventBatch) -> EventBatch:
        """The batch with every derived pair its values give rise to."""
        at = np.flatnonzero(batch.raw >= 0)
        if not len(at):
            return batch
        events = np.searchsorted(batch.offsets, at, side="right") - 1
        combos = batch.attrs[at].astype(np.int64) << 32 | batch.raw[at]
        distinct, where = np.unique(combos, return_inverse=True)
        found = [self.pairs(int(combo >> 32), batch.raws[int(combo & 0xFFFFFFFF)]) for combo in distinct]
        counts = np.array([len(pairs) for pairs in found])[where]
        if not counts.sum():
            return batch
        flat = np.array([pair for k in where for pair in found[k]], np.int64).reshape(-1, 2)
        rows = np.unique(np.column_stack([np.repeat(events, counts), flat]), axis=0)
        return batch.with_pairs(rows[:, 0], rows[:, 1].astype(np.int32), rows[:, 2])

    def pairs(self, base: int, value: Scalar) -> list[tuple[int, int]]:
        """(attribute, key) pairs that a value of `base` adds to its event."""
        pairs = []
        ids = self.dictionary.by_base.get(base)
        if ids:
            index = self.bases.get(base)
            if index is None:
                index = self.bases[base] = BaseIndex(self.dictionary, self.finder)
            pairs = [(derived, TRUE) for derived in index.satisfied(value, ids)]
        companion = self.dictionary.companions.get(base)
        if companion is not None and coarse(value):
            key = self.dictionary.exact_key(value)  # type: ignore[arg-type]
            pairs += [] if key is None else [(companion, key)]
        return pairs


class BaseIndex:
    """The derived predicates of one base attribute."""

    def __init__(self, dictionary: Dictionary, finder: Callable[[list[str]], Finder]) -> None:
        self.dictionary, self.finder = dictionary, finder
        self.built = self.known = 0
        self.plain, self.folded = Indexes([], finder), Indexes([], finder)
        self.memo: dict[tuple[bool, Scalar], tuple[int, ...]] = {}

    def satisfied(self, value: Scalar, ids: list[int]) -> tuple[int, ...]:
        """The derived attributes among `ids` (ever growing) whose predicate the value satisfies."""
        count = len(ids)
        if count != self.known:
            self.memo, self.known = {}, count
            if count - self.built > max(PENDING, self.built // 4):
                self._rebuild(ids[:count])
        memo_key = (isinstance(value, bool), value)
        found = self.memo.get(memo_key)
        if found is None:
            found = tuple(self._search(value, ids[self.built : count]))
            if len(self.memo) < MEMO_SIZE and (not isinstance(value, str) or len(value) <= MEMO_TEXT):
                self.memo[memo_key] = found
        return found

    def _search(self, value: Scalar, pending: list[int]) -> Iterator[int]:
        yield from self.plain.search(value)
        yield from self.folded.search(fold(value))
        yield from (i for i in pending if satisfies(self.dictionary.derived[i], value))

    def _rebuild(self, ids: list[int]) -> None:
        predicates = [(i, self.dictionary.derived[i]) for i in ids]
        self.plain = Indexes([(i, p) for i, p in predicates if not folds(p)], self.finder)
        self.folded = Indexes([(i, folded(p)) for i, p in predicates if folds(p)], self.finder)
        self.built = len(ids)


class Indexes:
    """Patterns, RE2 sets and a remainder over predicates that look at the value as it is given."""

    def __init__(self, predicates: Iterable[tuple[int, Predicate]], finder: Callable[[list[str]], Finder]) -> None:
        self.parts: dict[str, list[tuple[Op, int]]] = {}
        self.rest: list[tuple[int, Predicate]] = []
        patterns: list[tuple[int, str]] = []
        for identifier, predicate in predicates:
            text = predicate.values[0] if predicate.values else None
            if predicate.op in PARTS and isinstance(text, str) and text:
                self.parts.setdefault(text, []).append((predicate.op, identifier))
            elif predicate.op in (Op.LIKE, Op.MATCHES) and isinstance(text, str):
                patterns.append((identifier, expression(predicate, text)))
            else:
                self.rest.append((identifier, predicate))
        self.owners = list(self.parts.values())
        self.finder = finder(list(self.parts)) if self.parts else None
        self.sets = [RegexSet(patterns[i : i + SET_SIZE]) for i in range(0, len(patterns), SET_SIZE)]

    def search(self, value: Scalar) -> Iterator[int]:
        """Identifiers of the predicates that `value` satisfies, each once."""
        if isinstance(value, str):
            yield from self._parts(value)
            for regexes in self.sets:
                yield from regexes.search(value)
        yield from (i for i, predicate in self.rest if satisfies(predicate, value))

    def _parts(self, value: str) -> Iterable[int]:
        if self.finder is None:
            return ()
        hits: set[int] = set()
        for part, start, end in self.finder.find(value):
            for op, identifier in self.owners[part]:
                if op is Op.CONTAINS or (start == 0 if op is Op.STARTS else end == len(value)):
                    hits.add(identifier)
        return hits


class Automaton:
    """Aho-Corasick: one pass over the value, whatever the number of patterns."""

    def __init__(self, patterns: list[str]) -> None:
        self.automaton = AhoCorasick(patterns)

    def find(self, value: str) -> Iterable[tuple[int, int, int]]:
        """(pattern, start, end) of every occurrence."""
        return self.automaton.find_matches_as_indexes(value, overlapping=True)


FINDERS: dict[str, Callable[[list[str]], Finder]] = {AUTOMATON: Automaton, "suffix": SuffixSearch}


class RegexSet:
    """Regular expressions searched together by RE2, in one pass over the value.

    RE2 reports "nothing found" and "out of memory" alike, so the set ends with an expression that is always found: when even
    that is missing, the expressions are searched one by one.
    """

    def __init__(self, patterns: list[tuple[int, str]]) -> None:
        self.patterns = patterns
        self.options: Any = regex_options(nocase=False)
        self.options.max_mem = (8 + len(patterns)) << 20
        self.set = re2.Set.SearchSet(self.options)
        for _, pattern in patterns:
            self.set.Add(pattern)
        self.set.Add("")
        try:
            self.set.Compile()
        except re2.error:
            self.set = None

    def search(self, value: str) -> Iterator[int]:
        """Owners of the expressions found in `value`."""
        found = self.set.Match(value) if self.set else None
        if found is None:
            return (i for i, pattern in self.patterns if re2.search(pattern, value, options=self.options))
        return (self.patterns[i][0] for i in found if i < len(self.patterns))


def folds(predicate: Predicate) -> bool:
    """Whether the predicate looks at case-folded text (RE2 has its own way to ignore case)."""
    return predicate.nocase and predicate.op is not Op.MATCHES


def folded(predicate: Predicate) -> Predicate:
    """The predicate for values that are folded already."""
    return Predicate(predicate.attribute, predicate.op, tuple(map(fold, predicate.values)))


def expression(predicate: Predicate, text: str) -> str:
    """A `matches` or `like` pattern as one RE2 expression."""
    if predicate.op is Op.MATCHES:
        return f"(?i:{text})" if predicate.nocase else text
    tokens = {"%": ".*", "_": "."}
    body = "".join(tokens.get(token) or re.escape(token[1:]) for token in like_tokens(text))
    return rf"(?s)\A{body}\z"
