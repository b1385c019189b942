"""Filters read by shape under a type, ranges merged, match what they say."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies as own

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import SubscriptionTable, TableBuilder
from tamis.engines.registry import build_engine
from tamis.lang import bind, parse
from tamis.lang.shapes import ShapeCache
from tamis.model.evaluate import matches
from tamis.predicates.text import TextIndex
from tamis.spark.shaped import Shaped

SHAPES = ShapeCache(own.ORDERED)


@settings(max_examples=60)
@given(st.lists(own.bounds_on_one_attribute(), min_size=1, max_size=8))
def test_typed_filters_by_shape(filters):
    dictionary = Dictionary(type=own.ORDERED)
    shaped, builder = Shaped(), TableBuilder(dictionary)
    for row, text in enumerate(["n > 2 and n < 7", *filters]):
        found = SHAPES.lookup(text)
        if found is None or not shaped.add(row, *found):
            assert row, "the first one is columnar"
            builder.add(row, SHAPES.normalise(text))
    table = SubscriptionTable.concat([shaped.encode(np.arange(len(filters) + 1), dictionary), builder.build()])
    events = own.ordered_events()
    batch = TextIndex(dictionary).extend(encode_events(events, dictionary))
    found_ids = build_engine("scan", table).match(batch)
    conditions = [bind(parse(text), own.ORDERED) for text in ["n > 2 and n < 7", *filters]]
    expected = [[row for row, condition in enumerate(conditions) if matches(condition, event)] for event in events]
    assert [sorted(found_ids.of(event)) for event in range(len(events))] == expected
