import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays.slots import drop, find, first_slot, mix, new_slots, put, with_room


def lookup(slots, h):
    found, slot = set(), first_slot(slots, h)
    while slots.items[slot] >= 0:
        if slots.hashes[slot] == h:
            found.add(int(slots.items[slot]))
        slot = (slot + 1) % len(slots.items)
    return found


@settings(max_examples=80)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=120))
def test_behaves_as_a_dict_of_sets(steps):
    """Few hashes, all near the end of the table, so that runs collide and wrap around."""
    slots, number = new_slots(16), 0
    twin: dict[int, set[int]] = {}
    for adding, key in steps:
        h = key - 6
        if adding:
            slots = with_room(slots)
            put(slots, h, number)
            twin.setdefault(h, set()).add(number)
            number += 1
        elif twin.get(h):
            drop(slots, h, twin[h].pop())
    for h in range(-6, 7):
        assert lookup(slots, h) == twin.get(h, set())
    assert slots.used[0] == sum(len(items) for items in twin.values())


def test_find_compares_the_column_where_hashes_are_equal():
    slots, column = new_slots(16), np.array([5, 6, 5])
    for item, h in enumerate((3, 3, 4)):
        put(slots, h, item)
    found = [find(slots, h, column, value) for h, value in ((3, 5), (3, 6), (4, 5), (4, 6), (9, 5))]
    assert found == [0, 1, 2, -1, -1]


def test_mix_spreads_small_integers():
    assert len({mix(a, b) & 0xFFFF for a in range(16) for b in range(16)}) > 240
