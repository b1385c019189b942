import numpy as np

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.keys import FALSE, UNKNOWN_STRING, number_key
from tamis.model.predicate import Op, Predicate


def dictionary():
    made = Dictionary()
    for name in ("a", "b", "c"):
        made.attribute(name)
    made.intern("known")
    return made


def test_pairs_are_sorted_and_unknown_names_dropped():
    batch = encode_events([{"c": (1,), "zzz": (9,), "a": (2.5,)}, {}, {"b": ("known",)}], dictionary())
    assert batch.offsets.tolist() == [0, 2, 2, 3]
    assert batch.attrs.tolist() == [0, 2, 1]
    assert batch.keys.tolist() == [number_key(2.5), number_key(1), UNKNOWN_STRING + 1]
    assert not batch.multi


def test_lists_are_neighbours_and_marked():
    batch = encode_events([{"b": (1, 2), "a": (False,)}], dictionary())
    assert batch.attrs.tolist() == [0, 1, 1]
    assert batch.keys.tolist() == [FALSE, number_key(1), number_key(2)]
    assert batch.multi


def test_unknown_strings_share_a_key_and_grow_nothing():
    made = dictionary()
    batch = encode_events([{"a": ("x",)}, {"a": ("y",)}], made)
    assert set(batch.keys.tolist()) == {UNKNOWN_STRING}
    assert len(made.strings) == 1


def test_values_are_kept_where_text_predicates_look():
    made = dictionary()
    made.derive(Predicate("b", Op.CONTAINS, ("x",)))
    batch = encode_events([{"a": ("x",), "b": ("x", 5)}], made)
    assert batch.raw.tolist() == [-1, 0, 1]
    assert list(batch.raws) == ["x", 5]


def test_slice_and_with_pairs():
    batch = encode_events([{"a": (1,), "c": (3,)}, {"b": (2,)}], dictionary())
    assert batch.slice(1, 2).attrs.tolist() == [1]
    more = batch.with_pairs(np.array([1, 0]), np.array([2, 1], np.int32), np.array([7, 8]))
    assert more.offsets.tolist() == [0, 3, 5]
    assert more.attrs.tolist() == [0, 1, 2, 1, 2]
