import numpy as np
import pyarrow as pa
from hypothesis import given
from tests.contract.worlds import populations, streams

from tamis.encoding.arrow import (
    events_from_arrow,
    events_to_arrow,
    matches_from_arrow,
    matches_to_arrow,
    table_from_arrow,
    table_to_arrow,
)
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import encode_subscriptions


def through_ipc(batch):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch()


def same(left, right, names):
    for name in names:
        mine, theirs = getattr(left, name), getattr(right, name)
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs), name


@given(populations)
def test_tables(population):
    dictionary = Dictionary()
    table = encode_subscriptions(enumerate(population), dictionary)
    back = table_from_arrow(through_ipc(table_to_arrow(table)), dictionary)
    same(table, back, ("owners", "offsets", "attrs", "ops", "lo", "hi", "sets"))


@given(populations, streams)
def test_events(population, stream):
    dictionary = Dictionary()
    encode_subscriptions(enumerate(population), dictionary)
    batch = encode_events(stream, dictionary)
    back = events_from_arrow(through_ipc(events_to_arrow(batch)))
    same(batch, back, ("offsets", "attrs", "keys", "raw"))
    assert (list(back.raws), back.multi) == (list(batch.raws), batch.multi)
    assert list(map(type, back.raws)) == list(map(type, batch.raws))


def test_matches_share_memory():
    matches = MatchSet(np.array([0, 2, 2, 3]), np.array([4, 5, 6], np.int32))
    batch = matches_to_arrow(matches)
    assert batch.column(0).to_pylist() == [[4, 5], [], [6]]
    back = matches_from_arrow(batch)
    assert np.shares_memory(back.ids, matches.ids)
    assert back.equals(matches)
    assert matches_from_arrow(batch.slice(1)).equals(MatchSet(np.array([0, 0, 1]), np.array([6], np.int32)))
