"""Numeric worlds as arrays, for tests that need more conjunctions than objects would allow."""

import numpy as np

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import NUMBER_MAX, number_keys
from tamis.encoding.subscriptions import IN, SubscriptionTable


def numeric_table(rng, dictionary, owners, attributes, domain, sizes=(2, 5), equality=0.8):
    """Conjunctions over attributes "a0" …, each predicate an equality or a lower bound on a value 0 … domain - 1."""
    for i in range(attributes):
        dictionary.attribute(f"a{i}")
    counts = rng.integers(sizes[0], sizes[1] + 1, len(owners))
    attrs = np.concatenate([rng.permutation(attributes)[:n] for n in counts]).astype(np.int32)
    lo = number_keys(rng.integers(0, domain, len(attrs)))
    hi = np.where(rng.random(len(attrs)) < equality, lo, NUMBER_MAX)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    owners = np.array(owners, np.int32)
    return SubscriptionTable(
        owners, offsets, attrs, np.full(len(attrs), IN, np.uint8), lo, hi, np.zeros(0, np.int64), dictionary
    )


def numeric_events(rng, count, attributes, domain, presence=0.9) -> EventBatch:
    present = rng.random((count, attributes)) < presence
    events, attrs = np.nonzero(present)
    keys = number_keys(rng.integers(0, domain, len(events)))
    return from_pairs(count, events, attrs.astype(np.int32), keys, np.full(len(events), -1, np.int32))


def numeric_world(seed, conjunctions, attributes=8, domain=12, events=40, **shape):
    rng = np.random.default_rng(seed)
    table = numeric_table(rng, Dictionary(), range(conjunctions), attributes, domain, **shape)
    return rng, table, numeric_events(rng, events, attributes, domain)
