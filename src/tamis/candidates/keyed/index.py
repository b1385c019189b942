"""`Index`: a set of conjunctions under access keys, immutable once built, and what it decodes back to."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.handle import view_float64, view_int32, view_int64, view_uint8, view_uint16, view_uint32
from tamis.arrays.jit import leaf
from tamis.candidates.keyed.best import PROBE_COST, best_keys
from tamis.candidates.keyed.choose import KINDS, Keys, assign, key_space
from tamis.candidates.keyed.coded import BETWEEN, Coded, code_table
from tamis.candidates.keyed.filed import in_clusters
from tamis.candidates.keyed.layout import MOST_NARROW, Clusters, aligned
from tamis.candidates.keyed.schemas import Schemas
from tamis.candidates.keyed.weights import NO_SAMPLE, Float64Array, Sample, Weights, likelihood, mass, weigh
from tamis.candidates.keyed.write import room, write_clusters
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.encoding.subscriptions import IN, SubscriptionTable
from tamis.predicates.jumps import Jumps, jump_tables
from tamis.predicates.ranks import Ranks, code_known, rank_table


class Index(NamedTuple):
    """Everything the matching kernel reads; flat arrays only, so that it can be saved and mapped as it is.

    set_starts/set_codes: the sets of set predicates, in codes. shared bool-like uint8[1]: some owner may be found twice.
    """

    ranks: Ranks
    jumps: Jumps
    keys: Keys
    set_starts: Int64Array
    set_codes: Int32Array
    shared: NDArray[np.uint8]
    narrow: "Clusters[np.uint16]"
    wide: "Clusters[np.uint32]"


class Built(NamedTuple):
    """An index, how many conjunctions lie under each kind of key, and the candidates an event is expected to meet."""

    arrays: Index
    kinds: dict[str, int]
    expected: float


def build_index(table: SubscriptionTable, sample: Sample = NO_SAMPLE, look_up: float = PROBE_COST) -> Built:
    """The index of a table's conjunctions under the keys best for the sampled events; look_up as in `best_keys`."""
    ranks, codes = rank_table(table)
    coded = code_table(table, ranks, codes)
    sets = (codes.set_starts, codes.set_codes)
    weights = weigh(coded, ranks, sample)
    likely, narrow = described(coded, ranks, weights, sets)
    found = best_keys(coded, ranks, weights, likely, sets, sample, look_up)
    keys, clusters = key_space(coded, ranks, *found[:3])
    choice = found.choice
    filings = assign(coded, choice, keys, ranks.starts, *sets)
    filed, rows = in_clusters(coded, choice, likely, *filings, clusters)
    fits, slots = narrow[rows], len(ranks.attrs)
    small = write_clusters(filed, fits, slots, np.empty(room(filed, fits), np.uint16))
    rest = ~fits
    large = (
        write_clusters(filed, rest, slots, np.empty(room(filed, rest), np.uint32)) if rest.any() else empty_clusters()
    )
    shared = np.array([coded.shared.any() or len(rows) > len(coded.owners)], np.uint8)
    index = Index(ranks, jump_tables(ranks.starts, ranks.bounds), keys, *sets, shared, on_lines(small), on_lines(large))
    counts = np.bincount(choice.kind, minlength=len(KINDS))
    return Built(index, dict(zip(KINDS, counts.tolist(), strict=True)), found.expected)


@leaf
def index_view(handle: Int64Array) -> Index:
    """The index behind the handle of its arrays (`handle_of(arrays_of(index).values())`)."""
    return Index(
        Ranks(view_int32(handle, 0), view_int32(handle, 1), view_int64(handle, 2), view_int64(handle, 3)),
        Jumps(view_float64(handle, 4), view_float64(handle, 5), view_uint8(handle, 6), view_uint32(handle, 7)),
        Keys(
            view_int32(handle, 8), view_int32(handle, 9), view_uint8(handle, 10), view_uint8(handle, 11),
            view_uint8(handle, 12), view_uint8(handle, 13), view_int64(handle, 14), view_uint8(handle, 15),
            Schemas(view_int32(handle, 16), view_int32(handle, 17)),
        ),
        view_int64(handle, 18),
        view_int32(handle, 19),
        view_uint8(handle, 20),
        Clusters(
            view_uint32(handle, 21), view_uint16(handle, 22), view_uint32(handle, 23), view_uint32(handle, 24),
            view_uint8(handle, 25), view_uint32(handle, 26), view_int32(handle, 27), view_int32(handle, 28),
            view_uint32(handle, 29), view_uint8(handle, 30), view_uint16(handle, 31),
        ),
        Clusters(
            view_uint32(handle, 32), view_uint32(handle, 33), view_uint32(handle, 34), view_uint32(handle, 35),
            view_uint8(handle, 36), view_uint32(handle, 37), view_int32(handle, 38), view_int32(handle, 39),
            view_uint32(handle, 40), view_uint8(handle, 41), view_uint32(handle, 42),
        ),
    )  # fmt: skip


def expected_candidates(few: SubscriptionTable, times: float, ranks: Ranks, sample: Sample, look_up: float) -> float:
    """What an index built for the sample would be expected to meet, without building it.

    Estimated on a few of its conjunctions, each of which stands for `times` of them; ranks: those of all.
    """
    codes = code_known(few, ranks)
    coded = code_table(few, ranks, codes)
    weights, sets = weigh(coded, ranks, sample), (codes.set_starts, codes.set_codes)
    likely, _ = described(coded, ranks, weights, sets)
    return best_keys(coded, ranks, weights, likely, sets, sample, look_up, times).expected


def empty_clusters() -> "Clusters[np.uint32]":
    """No clusters at all."""
    none, one = np.zeros(0, np.uint32), np.zeros(1, np.uint32)
    no_int, no_byte = np.zeros(0, np.int32), np.zeros(0, np.uint8)
    return Clusters(none, none, one, one, no_byte, none, no_int, no_int, none, no_byte, none)


def on_lines(clusters: "Clusters[Any]") -> "Clusters[Any]":
    """The same clusters with columns that start at cache lines, and starts, which are read all over, where NumPy asks for huge
    pages as it does for large arrays (kernels do not)."""
    columns: Any = aligned(len(clusters.columns), clusters.columns.dtype.type)
    columns[:] = clusters.columns
    return clusters._replace(starts=clusters.starts.copy(), columns=columns)


def arrays_of(value: tuple[object, ...], prefix: str = "") -> dict[str, NDArray[np.generic]]:
    """All arrays of a nested named tuple by dotted name."""
    found: dict[str, NDArray[np.generic]] = {}
    for name, item in zip(value._fields, value, strict=True):  # type: ignore[attr-defined]
        if isinstance(item, tuple):
            found |= arrays_of(item, f"{prefix}{name}.")
        elif isinstance(item, np.ndarray):
            found[prefix + name] = item
    return found


def described(
    coded: Coded, ranks: Ranks, weights: Weights, sets: tuple[Int64Array, Int32Array]
) -> tuple[Float64Array, NDArray[np.bool_]]:
    """P(predicate holds) float64[p], and which conjunctions fit 16-bit items, bool[c]."""
    likely, narrow = np.empty(len(coded.slots), np.float64), np.ones(len(coded.owners), np.bool_)
    describe(coded, ranks.starts, weights.presence, weights.below, *sets, likely, narrow)
    return likely, narrow


@leaf
def describe(
    coded: Coded,
    bound_starts: Int64Array,
    presence: Float64Array,
    below: Float64Array,
    set_starts: Int64Array,
    set_codes: Int32Array,
    likely: Float64Array,
    narrow: NDArray[np.bool_],
) -> None:
    """Fill likely float64[p], P(predicate holds), and narrow bool[c] (all true before): what fits 16-bit items."""
    for c in range(len(coded.owners)):
        if coded.offsets[c + 1] - coded.offsets[c] > MOST_NARROW:
            narrow[c] = False
        for p in range(coded.offsets[c], coded.offsets[c + 1]):
            s, op, lo, hi = coded.slots[p], coded.ops[p], coded.lo[p], coded.hi[p]
            at = bound_starts[s] + 3 * s
            if (op == IN or op == BETWEEN) and lo <= hi:  # nearly all: not worth a call
                likely[p] = presence[s] * mass(below, at, lo, hi)
            else:
                likely[p] = likelihood(op, lo, hi, presence[s], below, at, set_starts, set_codes)
            if s > 0xFFFF or bound_starts[s + 1] - bound_starts[s] + 2 > 0xFFFE:
                narrow[c] = False
