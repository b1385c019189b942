"""Access keys: the one key under which a conjunction is filed for the `shuffle` strategy, and the keys an event asks for.

An event can satisfy a conjunction only if it carries the conjunction's access key: an equality (attribute, value) or the
presence of one of its attributes, whichever is rarer, or nothing at all if it has neither. Keys hash to buckets; a
bucket's conjunctions and the events that ask for one of its keys meet in one task. Keys that many conjunctions share are
*hot*: their conjunctions are copied to several salts of the bucket, and each event goes to one of them.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tamis.encoding.columns import Mask, changes
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int64Array
from tamis.encoding.subscriptions import IN, MISSING, SubscriptionTable
from tamis.spark.hashing import mixed
from tamis.spark.layout import PROFILE
from tamis.spark.profile import Profile

Floats = NDArray[np.float64]
NOTHING = np.int64(-1)
HOT = 0.01
BITS = 20


@dataclass(frozen=True, slots=True)
class Access:
    """What an event needs to know to find its buckets: which hashes of keys are in use, and which of them are hot."""

    used: Mask
    hot: Int64Array

    def save(self, directory: Path) -> None:
        """Keep it beside the shards."""
        np.savez_compressed(directory / "access.npz", used=np.packbits(self.used), hot=self.hot)

    @staticmethod
    def load(directory: Path) -> "Access":
        """What `save` wrote."""
        with np.load(directory / "access.npz") as found:
            return Access(np.unpackbits(found["used"]).astype(bool), found["hot"])

    @staticmethod
    def merged(parts: list["Access"]) -> "Access":
        """The access of several shards together."""
        used = np.zeros(1 << BITS, bool)
        for part in parts:
            used |= part.used
        hot = np.unique(np.concatenate([part.hot for part in parts] or [np.zeros(0, np.int64)]))
        return Access(used, hot)


@lru_cache(maxsize=2)
def open_access(directory: Path) -> tuple[Access, Profile | None]:
    """The access of a version and the profile its keys were chosen under, once per process."""
    place = directory / PROFILE
    return Access.load(directory), Profile.load(place) if place.exists() else None


def presence(attrs: Int64Array) -> Int64Array:
    """Hashes of the presence of attributes."""
    return mixed(attrs + (1 << 32), np.zeros(len(attrs), np.int64))


def conjunction_hashes(table: SubscriptionTable, profile: Profile | None = None) -> Int64Array:
    """The hash of each conjunction's access key: the equality or the presence that fewest events are expected to have."""
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    attrs = table.attrs.astype(np.int64)
    equal = (table.ops == IN) & (table.lo == table.hi)
    value, present = chances(table, equal, profile)
    chance = np.where(equal, value[attrs], np.where(table.ops == MISSING, np.inf, present[attrs]))
    order = np.lexsort((chance, owner))
    best = order[changes(owner[order])]
    best = best[np.isfinite(chance[best])]
    found = np.full(len(table), mixed(np.array([NOTHING]), np.zeros(1, np.int64))[0])
    by_value = mixed(attrs[best], table.lo[best])
    found[owner[best]] = np.where(equal[best], by_value, presence(attrs[best]))
    return found


def chances(table: SubscriptionTable, equal: Mask, profile: Profile | None) -> tuple[Floats, Floats]:
    """By attribute, the expected share of events that have a given value of it, and that have it at all.

    An attribute the profile does not know is taken to be everywhere, with as many values as there are constants.
    """
    constants = np.unique(np.column_stack([table.attrs[equal], table.lo[equal]]), axis=0)[:, 0]
    variety = np.bincount(constants, minlength=len(table.dictionary))
    value: Floats = np.asarray(1.0 / (1.0 + variety), np.float64)
    present: Floats = np.ones(len(variety))
    if profile is not None:
        for name in profile.attributes.keys() & table.dictionary.ids.keys():
            attribute = table.dictionary.ids[name]
            present[attribute] = profile.presence(name)
            value[attribute] = present[attribute] / max(1.0, profile.attributes[name].distinct)
    return value, present


def access_of(table: SubscriptionTable, profile: Profile | None = None) -> Access:
    """Which hashes the conjunctions of a table use, and which of them too often."""
    hashes, counts = np.unique(conjunction_hashes(table, profile), return_counts=True)
    used = np.zeros(1 << BITS, bool)
    used[hashes & ((1 << BITS) - 1)] = True
    return Access(used, hashes[counts > max(64, HOT * len(table))])


def event_hashes(batch: EventBatch, access: Access) -> tuple[Int64Array, Int64Array]:
    """(event index, hash) of every key in use that an event asks for."""
    events = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
    attrs = batch.attrs.astype(np.int64)
    every = np.arange(len(batch))
    nothing = np.repeat(mixed(np.array([NOTHING]), np.zeros(1, np.int64)), len(batch))
    rows = np.concatenate([events, events, every])
    hashes = np.concatenate([mixed(attrs, batch.keys), presence(attrs), nothing])
    kept = access.used[hashes & ((1 << BITS) - 1)]
    return rows[kept], hashes[kept]


def groups_of_events(
    rows: Int64Array, hashes: Int64Array, salt: Int64Array, access: Access, buckets: int, salts: int
) -> tuple[Int64Array, Int64Array]:
    """(event index, group), each pair once. `salt` int64[events] is a hash of the event itself."""
    hot = np.isin(hashes, access.hot)
    groups = (hashes >> BITS) % buckets * salts + np.where(hot, salt[rows] % salts, 0)
    found = np.unique(np.column_stack([rows, groups]), axis=0)
    return found[:, 0], found[:, 1]


def groups_of_conjunctions(
    hashes: Int64Array, access: Access, buckets: int, salts: int
) -> tuple[Int64Array, Int64Array]:
    """(conjunction, group): hot ones are in every salt of their bucket."""
    hot = np.isin(hashes, access.hot)
    copies = np.where(hot, salts, 1)
    rows = np.repeat(np.arange(len(hashes)), copies)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
    return rows, (hashes[rows] >> BITS) % buckets * salts + number
