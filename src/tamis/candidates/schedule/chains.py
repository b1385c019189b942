"""Linked chains (paper 003, section 4.2): a chain of nodes per conjunction, equal predicates threaded across chains.

Nodes of a chain lie side by side, the one that decides most for its cost first. The nodes of one predicate form a doubly
linked list, so a chain is linked or unlinked in time proportional to its own length, and a false predicate reaches exactly
the chains that hold it. Unlinked nodes stay behind as holes until half of the nodes are holes; then all are packed.
"""

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.encoding.keys import Int32Array, Int64Array

FloatArray: TypeAlias = NDArray[np.float64]
Structure: TypeAlias = tuple[
    Int64Array, Int32Array, Int32Array, NDArray[np.int8], Int32Array, Int32Array, Int32Array
]  # first, count, preds, wanted, links, head, chain_of

Arrays: TypeAlias = tuple[*Structure, Int32Array, Int32Array]  # … back, popularity
T = TypeVar("T", bound=np.generic)

NONE = -1
NEARLY_ONE = 1 - 1e-9


class Chains:
    """Chains by dense id. Arrays grow; `first[c]`, `count[c]` (0: no chain), `head[p]`, `popularity[p]` index them."""

    def __init__(self) -> None:
        self.first: Int64Array = np.zeros(0, np.int64)
        self.count: Int32Array = np.zeros(0, np.int32)
        self.preds: Int32Array = np.zeros(0, np.int32)
        self.wanted: NDArray[np.int8] = np.zeros(0, np.int8)
        self.chain_of: Int32Array = np.zeros(0, np.int32)
        self.links: Int32Array = np.zeros(0, np.int32)
        self.back: Int32Array = np.zeros(0, np.int32)
        self.head: Int32Array = np.zeros(0, np.int32)
        self.popularity: Int32Array = np.zeros(0, np.int32)
        self.nodes = self.live = 0

    @property
    def structure(self) -> Structure:
        """The arrays that describe chains and links, in the order every kernel takes them."""
        return self.first, self.count, self.preds, self.wanted, self.links, self.head, self.chain_of

    def nodes_of(self, ids: Int32Array) -> tuple[Int64Array, Int32Array, NDArray[np.int8]]:
        """Chains as CSR: offsets, predicates, wanted truths."""
        counts = self.count[ids]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        at = np.repeat(self.first[ids] - offsets[:-1], counts) + np.arange(offsets[-1])
        return offsets, self.preds[at], self.wanted[at]

    def ids(self) -> Int32Array:
        """The chains there are, ascending."""
        return np.flatnonzero(self.count).astype(np.int32)

    def insert(
        self,
        ids: Int32Array,
        offsets: Int64Array,
        preds: Int32Array,
        wanted: NDArray[np.int8],
        rank: FloatArray | None,
    ) -> None:
        """Link chains ids[i] with nodes offsets[i]:offsets[i+1]; ascending `rank` per node, or the given order if None."""
        if rank is not None:
            owner = np.repeat(np.arange(len(ids)), np.diff(offsets))
            order = np.lexsort((preds, rank, owner))
            preds, wanted = preds[order], wanted[order]
        self._reserve(int(ids.max(initial=-1)) + 1, int(preds.max(initial=-1)) + 1, self.nodes + len(preds))
        link(ids, offsets, preds, wanted, self.nodes, *self._arrays())
        self.nodes += len(preds)
        self.live += len(preds)

    def remove(self, chains: Int32Array) -> None:
        """Unlink chains."""
        known = chains[chains < len(self.count)]
        self.live -= int(unlink(known, *self._arrays()))
        if self.nodes > 1024 and self.nodes > 2 * self.live:
            self._pack()

    def _arrays(self) -> Arrays:
        return *self.structure, self.back, self.popularity

    def _reserve(self, chains: int, predicates: int, nodes: int) -> None:
        self.first, self.count = widened(self.first, chains), widened(self.count, chains)
        self.preds, self.wanted = widened(self.preds, nodes), widened(self.wanted, nodes)
        self.chain_of, self.links, self.back = (widened(a, nodes) for a in (self.chain_of, self.links, self.back))
        self.head, self.popularity = widened(self.head, predicates, NONE), widened(self.popularity, predicates)

    def _pack(self) -> None:
        ids = self.ids()
        nodes = self.nodes_of(ids)
        self.head[:] = NONE
        self.popularity[:] = 0
        self.nodes = self.live = 0
        self.insert(ids, *nodes, None)


def widened(array: NDArray[T], needed: int, fill: int = 0) -> NDArray[T]:
    """`array` if it has `needed` items, else a copy at least half as long again, filled with `fill`."""
    if needed <= len(array):
        return array
    larger = np.full(max(needed, len(array) * 3 // 2, 16), fill, array.dtype)
    larger[: len(array)] = array
    return larger


def node_rank(
    preds: Int32Array, wanted: NDArray[np.int8], selectivity: FloatArray, cost: FloatArray, popularity: FloatArray
) -> FloatArray:
    """Where nodes belong in their chain, ascending: cost per chance of being decisive, for everybody who has a share.

    With equal costs and a popularity of one this is increasing selectivity.
    """
    holds = np.choose(wanted, [1 - selectivity[preds], selectivity[preds], np.ones(len(preds))])  # FALSE, TRUE, ANY
    rank: FloatArray = cost[preds] / ((1 - np.minimum(holds, NEARLY_ONE)) * popularity[preds])
    return rank


@kernel
def link(
    ids: Int32Array,
    offsets: Int64Array,
    new_preds: Int32Array,
    new_wanted: NDArray[np.int8],
    nodes: int,
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: NDArray[np.int8],
    links: Int32Array,
    head: Int32Array,
    chain_of: Int32Array,
    back: Int32Array,
    popularity: Int32Array,
) -> None:
    """Append chains ids (CSR offsets/new_preds/new_wanted) from node `nodes` on; mutates every array after it."""
    node = nodes
    for i in range(len(ids)):
        first[ids[i]] = node
        count[ids[i]] = offsets[i + 1] - offsets[i]
        for k in range(offsets[i], offsets[i + 1]):
            p = new_preds[k]
            preds[node], wanted[node], chain_of[node] = p, new_wanted[k], ids[i]
            links[node], back[node] = head[p], NONE
            if head[p] >= 0:
                back[head[p]] = node
            head[p] = node
            popularity[p] += 1
            node += 1


@kernel
def unlink(
    ids: Int32Array,
    first: Int64Array,
    count: Int32Array,
    preds: Int32Array,
    wanted: NDArray[np.int8],
    links: Int32Array,
    head: Int32Array,
    chain_of: Int32Array,
    back: Int32Array,
    popularity: Int32Array,
) -> int:
    """Take chains out of their predicates' lists and empty them; returns how many nodes became holes."""
    freed = 0
    for c in ids:
        for node in range(first[c], first[c] + count[c]):
            p = preds[node]
            if back[node] >= 0:
                links[back[node]] = links[node]
            else:
                head[p] = links[node]
            if links[node] >= 0:
                back[links[node]] = back[node]
            popularity[p] -= 1
        freed += count[c]
        count[c] = 0
    return freed
