"""The reference workloads: numeric conjunctions around themes, templates, and strings, as plain columns.

A *theme* is a set of attributes with a value each. An event is a theme some of whose values were redrawn. A share of the
subscriptions is drawn around a theme (its attributes; equalities with its value, ranges that contain it), so that a wanted
share of all subscriptions matches an average event; the rest is drawn at random and matches hardly anything.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Numeric:
    """Parameters of a numeric workload; match: share of the subscriptions that an event should match."""

    subscriptions: int
    attributes: int = 400
    values: int = 1000
    predicates: tuple[int, int] = (5, 9)
    equality: float = 0.3
    zipf: bool = False
    match: float = 1e-4
    themes: int = 1000
    templates: int = 0
    events: int = 1000
    pairs: tuple[int, int] = (11, 19)
    kept: float = 0.95
    strings: bool = False
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Columns:
    """Subscriptions (offsets, attribute, low, high per predicate) and events (offsets, attribute, value per pair)."""

    parameters: Numeric
    offsets: Ints
    attrs: Ints
    low: Ints
    high: Ints
    event_offsets: Ints
    event_attrs: Ints
    event_values: Ints


WORKLOADS: dict[str, Numeric] = {
    "uniform-100k": Numeric(100_000, match=1e-3, themes=500, seed=11),
    "uniform-1m": Numeric(1_000_000, seed=12),
    "dense-1m": Numeric(1_000_000, match=1e-2, themes=50, seed=13),
    "zipf-1m": Numeric(1_000_000, match=1e-2, themes=50, zipf=True, seed=14),
    "wide-1m": Numeric(1_000_000, attributes=1000, seed=15),
    "equality-100k": Numeric(100_000, values=50, predicates=(3, 5), equality=1.0, match=1e-3, themes=500, seed=16),
    "templated-1m": Numeric(1_000_000, templates=20, match=1e-4, seed=17),
    "strings-100k": Numeric(100_000, match=1e-3, themes=500, equality=1.0, predicates=(3, 5), strings=True, seed=18),
    "uniform-10m": Numeric(10_000_000, match=1e-5, seed=19),
}
QUICK = ("uniform-100k", "equality-100k", "strings-100k")


def generate(name: str, scale: float = 1.0) -> Columns:
    """A workload by name; `scale` shrinks the number of subscriptions, and the share that matches grows with it."""
    parameters = WORKLOADS[name]
    if scale != 1.0:
        count = max(1, int(parameters.subscriptions * scale))
        parameters = replace(parameters, subscriptions=count, match=min(1e-2, parameters.match / scale))
    return draw(parameters)


def draw(given: Numeric) -> Columns:
    """The columns for some parameters; the same parameters give the same columns."""
    rng = np.random.default_rng(given.seed)
    weights = 1.0 / np.arange(1, given.attributes + 1) if given.zipf else np.ones(given.attributes)
    most = given.pairs[1]
    n, longest = given.subscriptions, given.predicates[1]
    theme_attrs = subsets(rng, given.themes, most, weights)
    if given.templates:
        shapes = subsets(rng, given.templates, longest, weights)
        shape_of = np.arange(given.themes) % given.templates
        theme_attrs = begun(shapes[shape_of], theme_attrs)
    theme_values = rng.integers(0, given.values, theme_attrs.shape)
    theme_sizes = rng.integers(given.pairs[0], most + 1, given.themes)
    of_event = rng.permutation(np.arange(given.events) % given.themes)
    redrawn = rng.random((given.events, most)) >= given.kept
    values = np.where(redrawn, rng.integers(0, given.values, redrawn.shape), theme_values[of_event])
    used = np.arange(most) < theme_sizes[of_event][:, None]
    event_offsets = np.concatenate([[0], np.cumsum(theme_sizes[of_event])])
    sizes = rng.integers(given.predicates[0], longest + 1, n)
    holds = given.kept + (1 - given.kept) * (1 - given.equality) / 4
    around = rng.random(n) < min(1.0, given.match * given.themes / float(np.mean(holds**sizes)))
    attrs, centre = np.empty((n, longest), np.int64), rng.integers(0, given.values, (n, longest))
    if given.templates:
        attrs[:] = shapes[rng.integers(0, given.templates, n)]
        theme = rng.integers(0, given.themes, int(around.sum()))
        attrs[around], centre[around] = shapes[shape_of[theme]], theme_values[theme, :longest]
    else:
        attrs[~around] = subsets(rng, int((~around).sum()), longest, weights)
        theme = rng.integers(0, given.themes, int(around.sum()))
        order = np.argsort(
            np.where(np.arange(most) < theme_sizes[theme][:, None], rng.random((len(theme), most)), 2), axis=1
        )
        attrs[around] = np.take_along_axis(theme_attrs[theme], order[:, :longest], 1)
        centre[around] = np.take_along_axis(theme_values[theme], order[:, :longest], 1)
    width = (rng.uniform(0.05, 0.45, centre.shape) * given.values).astype(np.int64)
    low = np.maximum(0, centre - (rng.random(centre.shape) * width).astype(np.int64))
    high = np.minimum(given.values - 1, np.maximum(low + width, centre))
    point = rng.random(centre.shape) < given.equality
    kept = np.arange(longest) < sizes[:, None]
    return Columns(
        given,
        np.concatenate([[0], np.cumsum(sizes)]),
        attrs[kept],
        np.where(point, centre, low)[kept],
        np.where(point, centre, high)[kept],
        event_offsets,
        theme_attrs[of_event][used].astype(np.int64),
        values[used],
    )


def begun(heads: Ints, rows: Ints) -> Ints:
    """The rows, each begun with the attributes of a head, which it then does not name again, and cut to its length."""
    joined = np.concatenate([heads, rows], axis=1).tolist()
    return np.array([list(dict.fromkeys(row))[: rows.shape[1]] for row in joined], np.int64)


def subsets(rng: np.random.Generator, count: int, size: int, weights: NDArray[np.float64]) -> Ints:
    """`count` rows of `size` distinct attributes, drawn by weight."""
    rows = np.empty((count, size), np.int64)
    for start in range(0, count, 20_000):
        stop = min(count, start + 20_000)
        waits = rng.exponential(size=(stop - start, len(weights))) / weights  # the first to arrive are a weighted draw
        first = np.argpartition(waits, size - 1, axis=1)[:, :size]
        rows[start:stop] = np.take_along_axis(first, np.argsort(np.take_along_axis(waits, first, 1), axis=1), 1)
    return rows
