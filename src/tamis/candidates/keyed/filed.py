"""Conjunctions in the order of the clusters they are filed in, so that writing clusters reads memory from end to end."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.csr import grouped
from tamis.candidates.keyed.choose import VALUE, VALUES, Choice
from tamis.candidates.keyed.coded import Coded, taken
from tamis.candidates.keyed.weights import Float64Array
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import IN, IN_SET


class Filed(NamedTuple):
    """Cluster k holds the conjunctions starts[k]:starts[k+1] (int64[clusters+1]) of `coded`, each once for every filing.

    kinds uint8[r] of their keys; proven int32[r]: the predicate that hitting the key proves (for single values), or -1;
    copies bool[r]: filed before; likely float64[p]: P(predicate holds).
    """

    coded: Coded
    kinds: NDArray[np.uint8]
    proven: Int32Array
    copies: NDArray[np.bool_]
    likely: Float64Array
    starts: Int64Array


def in_clusters(
    coded: Coded, choice: Choice, likely: Float64Array, rows: Int32Array, cluster_of: Int32Array, clusters: int
) -> tuple[Filed, Int32Array]:
    """Filings (rows, cluster_of) as `assign` makes them, in the order of the clusters, and the conjunction of each.

    In a cluster the shortest conjunctions come first: loops over neighbours of the same length are foreseen by the processor.
    """
    lengths = np.diff(coded.offsets)[rows].astype(np.int32)
    _, by_length = grouped(lengths, int(lengths.max(initial=0)) + 1)
    starts, order = grouped(cluster_of[by_length], clusters)
    order = by_length[order]
    again = np.zeros(len(rows), np.bool_)
    again[1:] = rows[1:] == rows[:-1]  # the clusters of one conjunction ascend
    rows = rows[order]
    made, likely_made = taken(coded, likely, rows)
    kinds, firsts = choice.kind[rows], choice.first[rows]
    moved = np.where(firsts >= 0, firsts - coded.offsets[rows] + made.offsets[:-1], 0)
    ops = made.ops[moved] if len(made.ops) else np.zeros(len(rows), np.uint8)
    proves = ((kinds == VALUE) & (ops == IN)) | ((kinds == VALUES) & (ops == IN_SET))
    proven = np.where(proves, moved, -1).astype(np.int32)
    return Filed(made, kinds, proven, again[order], likely_made, starts), rows
