"""What is known of the events to come: how likely an attribute is present, and a value of it.

A *profile* is what a pipeline writes after reading events: for each attribute name its `presence` (a share of the events),
the number of `distinct` values, and the `heavy` values with their shares:

    {"attributes": {"brand": {"presence": 0.9, "distinct": 40, "heavy": [["Acme", 0.3], ["Sony", 0.1]]}}}

Values that are not heavy share what the heavy ones leave.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.errors import DataError


@dataclass(frozen=True, slots=True)
class AttributeProfile:
    """Presence, distinct values, and the shares of heavy values by key."""

    presence: float = 1.0
    distinct: int = 1
    heavy: dict[int, float] = field(default_factory=dict)

    def chance(self, key: int) -> float:
        """The share of events in which the attribute has this value."""
        if key in self.heavy:
            return self.heavy[key]
        left = max(0.0, self.presence - sum(self.heavy.values()))
        return left / max(1, self.distinct - len(self.heavy))


def read_profile(source: Mapping[str, Any] | str | Path, dictionary: Dictionary) -> dict[int, AttributeProfile]:
    """A profile given as a mapping or a JSON file, by attribute id; attributes nobody names are left out."""
    try:
        given = source if isinstance(source, Mapping) else json.loads(Path(source).read_text())
        return {
            dictionary.ids[name]: AttributeProfile(
                float(entry.get("presence", 1.0)),
                int(entry.get("distinct", 1)),
                {dictionary.key(value): float(share) for value, share in entry.get("heavy", [])},
            )
            for name, entry in given["attributes"].items()
            if name in dictionary.ids
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        where = "the profile" if isinstance(source, Mapping) else f"the profile {source}"
        raise DataError(
            f"{where} cannot be read: {error!r}; expected attributes with presence, distinct, heavy"
        ) from error


def presence(events: EventBatch, attributes: int) -> NDArray[np.float64]:
    """By attribute, the share of the events that have it."""
    owner = np.repeat(np.arange(len(events)), np.diff(events.offsets))
    first = np.ones(len(owner), bool)
    first[1:] = (owner[1:] != owner[:-1]) | (events.attrs[1:] != events.attrs[:-1])
    known = events.attrs < attributes
    return np.bincount(events.attrs[first & known], minlength=attributes) / max(1, len(events))
