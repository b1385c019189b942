"""Jump tables against the plain search, wherever the bounds and the keys may lie."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays.jit import kernel
from tamis.encoding.keys import KEY_MAX, KEY_MIN, NUMBER_MAX, NUMBER_MIN, TRUE, UNKNOWN_STRING, number_key
from tamis.predicates.jumps import code_of, jump_tables
from tamis.predicates.ranks import rank


@kernel
def codes(starts, bounds, slots, keys):
    jumps = jump_tables(starts, bounds)
    quick, plain = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        s = slots[i]
        quick[i] = code_of(jumps, bounds, starts[s], starts[s + 1], s, keys[i])
        plain[i] = rank(bounds, starts[s], starts[s + 1], keys[i])
    return quick, plain


floats = st.floats(allow_nan=False, allow_infinity=False).map(number_key)
small = st.integers(-50, 2000).map(number_key)
special = st.sampled_from([KEY_MIN + 1, NUMBER_MIN, NUMBER_MAX, NUMBER_MAX + 1, KEY_MAX, TRUE, 0, UNKNOWN_STRING])
strings = st.integers(0, 3000).map(lambda i: UNKNOWN_STRING + i)
keys = st.one_of(small, strings, floats, special, small.map(lambda key: key + 1))


@settings(max_examples=150)
@given(st.lists(st.lists(keys, max_size=200), min_size=1, max_size=3), st.lists(keys, min_size=1, max_size=50))
def test_every_key_of_every_slot_has_the_code_of_the_plain_search(slots, asked):
    sorted_slots = [sorted(set(bounds)) for bounds in slots]
    starts = np.cumsum([0, *map(len, sorted_slots)])
    bounds = np.array([bound for slot in sorted_slots for bound in slot], np.int64)
    asked += [bound + by for slot in sorted_slots for bound in slot[:40] for by in (-1, 0)]
    of = np.repeat(np.arange(len(slots)), len(asked))
    quick, plain = codes(starts, bounds, of, np.array(asked * len(slots), np.int64))
    assert quick.tolist() == plain.tolist()


def test_a_thousand_integers_are_spread_over_the_buckets():
    """A quarter as many buckets as bounds, and hardly more than a handful of bounds in any of them."""
    values = np.arange(1000.0)
    bounds = np.unique(np.concatenate([[number_key(v), number_key(v) + 1] for v in values] + [[NUMBER_MAX + 1]]))
    before = jump_tables(np.array([0, len(bounds)]), bounds).before
    assert np.diff(before.astype(np.int64)).max() <= 8
