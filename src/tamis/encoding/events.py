"""`EventBatch`: events as rows of (attribute, key) pairs, in CSR form; one event is a batch of one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.keys import Int32Array, Int64Array, coarse
from tamis.model.event import Event
from tamis.model.values import Scalar


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Event i has pairs offsets[i]:offsets[i+1], ascending by attribute; several values of one attribute are neighbours.

    offsets int64[n+1], attrs int32[m], keys int64[m]; `raw` int32[m] points into `raws` where a value itself is needed
    beside its key (text predicates, huge numbers), else -1. `multi`: some event has several values of one attribute.
    Attributes no subscription has named are left out: they cannot change a match.
    """

    offsets: Int64Array
    attrs: Int32Array
    keys: Int64Array
    raw: Int32Array
    raws: Sequence[Scalar]
    multi: bool

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def slice(self, start: int, stop: int) -> "EventBatch":
        """Events start:stop, sharing memory."""
        first, last = self.offsets[start], self.offsets[stop]
        offsets = self.offsets[start : stop + 1] - first
        columns = (self.attrs[first:last], self.keys[first:last], self.raw[first:last])
        return EventBatch(offsets, *columns, self.raws, self.multi)

    def with_pairs(self, events: Int64Array, attrs: Int32Array, keys: Int64Array) -> "EventBatch":
        """The batch with further pairs, given as parallel columns (event index, attribute, key)."""
        if not len(events):
            return self
        owner = np.concatenate([np.repeat(np.arange(len(self)), np.diff(self.offsets)), events])
        raw = np.concatenate([self.raw, np.full(len(events), -1, np.int32)])
        return replace(
            from_pairs(len(self), owner, np.concatenate([self.attrs, attrs]), np.concatenate([self.keys, keys]), raw),
            raws=self.raws,
        )


def from_pairs(
    count: int, events: Int64Array, attrs: Int32Array, keys: Int64Array, raw: Int32Array, raws: Sequence[Scalar] = ()
) -> EventBatch:
    """A batch of `count` events from unordered parallel columns (event index, attribute, key, raw)."""
    place = events * (int(attrs.max(initial=0)) + 1) + attrs
    if np.any(place[1:] < place[:-1]):
        order = np.argsort(place, kind="stable")
        events, attrs, keys, raw = events[order], attrs[order], keys[order], raw[order]
    offsets = np.searchsorted(events, np.arange(count + 1)).astype(np.int64)
    multi = bool(np.any((events[1:] == events[:-1]) & (attrs[1:] == attrs[:-1])))
    return EventBatch(offsets, attrs.astype(np.int32), keys, raw.astype(np.int32), raws, multi)


def encode_events(events: Sequence[Event], dictionary: Dictionary) -> EventBatch:
    """A batch from normalised events; `bulk.py` is the columnar way in."""
    rows: list[tuple[int, int, int, int]] = []
    raws: list[Scalar] = []
    offsets = np.zeros(len(events) + 1, np.int64)
    multi = False
    for i, event in enumerate(events):
        start = len(rows)
        for name, values in event.items():
            attribute = dictionary.ids.get(name)
            if attribute is None:
                continue
            multi |= len(values) > 1
            derived, exact = attribute in dictionary.by_base, attribute in dictionary.companions
            for value in values:
                wanted = derived or (exact and coarse(value))
                rows.append((attribute, len(rows), dictionary.key(value), len(raws) if wanted else -1))
                if wanted:
                    raws.append(value)
        if len(rows) - start > 1:
            rows[start:] = sorted(rows[start:])  # by attribute, then in the order given
        offsets[i + 1] = len(rows)
    columns = np.array(rows, np.int64).reshape(-1, 4)
    attrs, raw = columns[:, 0].astype(np.int32), columns[:, 3].astype(np.int32)
    return EventBatch(offsets, attrs, columns[:, 2].copy(), raw, raws, multi)
