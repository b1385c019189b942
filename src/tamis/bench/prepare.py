"""Workloads, from their parameters to encoded batches and the matches an engine is held to.

`prepare` takes what a suite's TOML says of a workload (`kind`, and the parameters of its generator) and makes it, or
takes it from a folder where an earlier run of the same session left it.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.encoding.bulk_events import encode_long, encode_wide
from tamis.encoding.bulk_subscriptions import encode_predicates
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import number_keys
from tamis.encoding.matches import MatchSet
from tamis.encoding.saved import load_dictionary, save_dictionary
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.registry import build_engine
from tamis.errors import DataError, nearest
from tamis.model.schema import IntDomain, PublicationType
from tamis.workloads import pubsub, rapid, reference
from tamis.workloads.fabret import Fabret
from tamis.workloads.topss import Topss

CHUNK = 500_000
CHECKED = 10
EVENTS = 1000
Encoded = tuple[SubscriptionTable, EventBatch, EventBatch]
"""Subscriptions, events to match, and other events of the same kind to learn from."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A workload and, for the first of its events, the matches `scan` finds."""

    table: SubscriptionTable
    events: EventBatch
    sample: EventBatch
    expected: MatchSet


def prepare(parameters: dict[str, Any], seed: int = 1, folder: Path | None = None) -> Prepared:
    """A workload by its parameters; the same parameters and seed give the same workload."""
    told = json.dumps([parameters, seed], sort_keys=True)
    place = folder / hashlib.blake2b(told.encode(), digest_size=8).hexdigest() if folder else None
    if place is not None and (place / "whole").exists():
        return opened(place)
    given = dict(parameters)
    kind, _ = given.pop("kind"), given.pop("case", None)
    if kind not in KINDS:
        raise DataError(f"there is no kind of workload {kind!r}{nearest(kind, KINDS)} (kinds: {', '.join(KINDS)})")
    prepared = checked(KINDS[kind](given, seed))
    if place is not None:
        save(prepared, place)
    return prepared


def checked(encoded: Encoded) -> Prepared:
    """The workload with what the oracle says of its first events; fewer of them the more subscriptions there are."""
    table, events, sample = encoded
    count = max(2, min(CHECKED, 20_000_000 // max(1, len(table))))
    return Prepared(table, events, sample, build_engine("scan", table).match(events.slice(0, min(count, len(events)))))


def topss(given: dict[str, Any], seed: int) -> Encoded:
    """`single = true` makes every subscription one predicate, all different."""
    count, events, single = given.pop("subscriptions"), given.pop("events", EVENTS), given.pop("single", False)
    shape = Topss(**given | {"domains": tuple(given.get("domains", (10,)))})
    domains = {f"a{i}": IntDomain(0, shape.domain(i) - 1) for i in range(shape.attributes)}
    names = Dictionary(type=PublicationType(domains))
    make = shape.single_predicates if single else shape.subscriptions
    table = (
        encode_predicates(make(count, seed), names) if single else in_chunks(shape.subscriptions, count, names, seed)
    )
    return table, wide(shape.events(events, seed), names), wide(shape.events(events, seed + 1), names)


def fabret(given: dict[str, Any], seed: int) -> Encoded:
    """Conjunctions of equalities, some inequalities."""
    count, events = given.pop("subscriptions"), given.pop("events", EVENTS)
    shape, names = Fabret(**given), Dictionary()
    for i in range(shape.attributes):
        names.attribute(f"a{i}")
    table = in_chunks(shape.subscriptions, count, names, seed)
    return table, wide(shape.events(events, seed + 1000), names), wide(shape.events(events, seed + 2000), names)


def rapid_kind(given: dict[str, Any], seed: int) -> Encoded:
    """`alpha` for the Light Query Model, `p` for the exponential one."""
    count, events, names = given.pop("subscriptions"), given.pop("events", EVENTS), Dictionary()
    table = encode_predicates(rapid.subscriptions(count, seed), names)
    make = rapid.light_events if "alpha" in given else rapid.exponential_events
    batches = [encode_long(make(events, seed + i, **given), names)[0].batch for i in (1, 2)]
    return table, batches[0], batches[1]


def pubsub_kind(given: dict[str, Any], seed: int) -> Encoded:
    """Declared domains, many attributes."""
    count, events = given.pop("subscriptions"), given.pop("events", EVENTS)
    shape = pubsub.Shape(**given)
    domain = IntDomain(0, shape.domain - 1)
    names = Dictionary(type=PublicationType({f"a{i}": domain for i in range(shape.attributes)}))
    table = encode_predicates(pubsub.subscriptions(count, seed, shape), names)
    batch = encode_long(pubsub.events(2 * events, seed, shape), names)[0].batch
    return table, batch.slice(0, events), batch.slice(events, 2 * events)


def reference_kind(given: dict[str, Any], seed: int) -> Encoded:
    """One of the reference workloads, by `name`; its seed is its own."""
    name = given.pop("name")
    if name not in reference.WORKLOADS:
        raise DataError(f"there is no reference workload {name!r}{nearest(name, reference.WORKLOADS)}")
    table, events = encode_reference(reference.generate(name, **given))
    half = len(events) // 2
    return table, events.slice(0, half), events.slice(half, len(events))


KINDS: dict[str, Callable[[dict[str, Any], int], Encoded]] = {
    "topss": topss,
    "fabret": fabret,
    "rapid": rapid_kind,
    "pubsub": pubsub_kind,
    "reference": reference_kind,
}


def in_chunks(make: Callable[..., pa.Table], count: int, names: Dictionary, seed: int) -> SubscriptionTable:
    """Subscriptions generated and encoded piece by piece, so that millions need little memory beside the result."""
    sizes: Iterator[tuple[int, int]] = ((first, min(CHUNK, count - first)) for first in range(0, count, CHUNK))
    return SubscriptionTable.concat(
        [encode_predicates(make(size, seed + first, first=first), names) for first, size in sizes]
    )


def wide(events: pa.Table, names: Dictionary) -> EventBatch:
    """Events of one row each."""
    return encode_wide(events, names).strict()


def encode_reference(columns: reference.Columns) -> tuple[SubscriptionTable, EventBatch]:
    """Plain columns as a table and a batch over one dictionary."""
    names = Dictionary()
    for i in range(columns.parameters.attributes):
        names.attribute(f"a{i}")
    if columns.parameters.strings:
        keys = np.array([names.intern(f"value {i}") for i in range(columns.parameters.values)], np.int64)
    else:
        keys = number_keys(np.arange(columns.parameters.values))
    count = len(columns.offsets) - 1
    ops = np.zeros(len(columns.attrs), np.uint8)
    table = SubscriptionTable(
        np.arange(count, dtype=np.int32), columns.offsets.astype(np.int64), columns.attrs.astype(np.int32), ops,
        keys[columns.low], keys[columns.high], np.zeros(0, np.int64), names,
    )  # fmt: skip
    owner = np.repeat(np.arange(len(columns.event_offsets) - 1), np.diff(columns.event_offsets))
    attrs, raw = columns.event_attrs.astype(np.int32), np.full(len(owner), -1, np.int32)
    return table, from_pairs(len(columns.event_offsets) - 1, owner, attrs, keys[columns.event_values], raw)


TABLE = ("owners", "offsets", "attrs", "ops", "lo", "hi", "sets")
BATCH = ("offsets", "attrs", "keys", "raw")


def save(prepared: Prepared, place: Path) -> None:
    """Leave a workload for the next run."""
    place.mkdir(parents=True, exist_ok=True)
    for name in TABLE:
        np.save(place / f"table-{name}.npy", getattr(prepared.table, name))
    for kind in ("events", "sample"):
        for name in BATCH:
            np.save(place / f"{kind}-{name}.npy", getattr(getattr(prepared, kind), name))
    np.save(place / "expected-offsets.npy", prepared.expected.offsets)
    np.save(place / "expected-ids.npy", prepared.expected.ids)
    save_dictionary(prepared.table.dictionary, place / "dictionary.arrow")
    (place / "whole").touch()


def opened(place: Path) -> Prepared:
    """Read what `save` left."""

    def array(name: str) -> Any:
        return np.load(place / f"{name}.npy")

    owners, offsets, attrs, ops, lo, hi, sets = (array(f"table-{name}") for name in TABLE)
    names = load_dictionary(place / "dictionary.arrow")
    table = SubscriptionTable(owners, offsets, attrs, ops, lo, hi, sets, names)
    events, sample = (batch([array(f"{kind}-{name}") for name in BATCH]) for kind in ("events", "sample"))
    return Prepared(table, events, sample, MatchSet(array("expected-offsets"), array("expected-ids")))


def batch(columns: list[Any]) -> EventBatch:
    """Events whose values are all decided by their keys."""
    offsets, attrs, keys, raw = columns
    return EventBatch(offsets, attrs, keys, raw, (), False)
