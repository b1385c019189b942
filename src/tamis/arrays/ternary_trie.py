"""Ternary search tries over texts, in arrays: a node compares one character and goes lower, equal or higher."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel, leaf


class TernaryTrie(NamedTuple):
    """Per node int32: `char`, `lower`, `equal`, `higher` nodes (-1: none) and `value` of the text that ends here (-1)."""

    char: NDArray[np.int32]
    lower: NDArray[np.int32]
    equal: NDArray[np.int32]
    higher: NDArray[np.int32]
    value: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)


def code_points(texts: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The texts' code points end to end, and where each begins (one more at the end)."""
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32), offsets


def new_trie(chars: NDArray[np.int32], offsets: NDArray[np.int64]) -> TernaryTrie:
    """A trie of different non-empty texts whose values are their positions; texts go in so that it stays shallow."""
    size = len(chars) + 1
    trie = TernaryTrie(**{name: np.full(size, -1, np.int32) for name in TernaryTrie._fields})
    order = np.random.default_rng(0).permutation(len(offsets) - 1)  # sorted input would make lists of siblings
    used = fill(trie, chars, offsets, order)
    return trie._replace(**{name: getattr(trie, name)[:used].copy() for name in TernaryTrie._fields})


@kernel
def fill(t: TernaryTrie, chars: NDArray[np.int32], offsets: NDArray[np.int64], order: NDArray[np.int64]) -> int:
    """Add all texts in `order` (mutates the trie, which has a node per character); returns the nodes used."""
    used = 0
    for text in order:
        node, side, parent = 0 if used else -1, 0, -1
        at = offsets[text]
        while at < offsets[text + 1]:
            if node < 0:
                node = used
                used += 1
                t.char[node] = chars[at]
                if parent >= 0:
                    if side < 0:
                        t.lower[parent] = node
                    elif side > 0:
                        t.higher[parent] = node
                    else:
                        t.equal[parent] = node
            parent = node
            if chars[at] < t.char[node]:
                side, node = -1, t.lower[node]
            elif chars[at] > t.char[node]:
                side, node = 1, t.higher[node]
            else:
                side, node = 0, t.equal[node]
                at += 1
        t.value[parent] = text
    return used


@leaf
def look_up(t: TernaryTrie, chars: NDArray[np.int32], first: int, last: int) -> int:
    """The value of the text chars[first:last], or -1."""
    node = 0 if len(t.char) else -1
    at = first
    while node >= 0 and at < last:
        if chars[at] < t.char[node]:
            node = t.lower[node]
        elif chars[at] > t.char[node]:
            node = t.higher[node]
        else:
            at += 1
            if at == last:
                return t.value[node]
            node = t.equal[node]
    return -1
