"""What only the default engine has: merges, saved indexes, threads, statistics, and odd input."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from tamis.candidates.keyed import batch
from tamis.candidates.keyed.single import LEAST_ROOM
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import KEY_MAX, KEY_MIN, number_keys
from tamis.encoding.subscriptions import IN, IN_SET, MISSING, SubscriptionTable
from tamis.engines.scan import ScanEngine
from tamis.engines.tamis import TamisEngine, TamisOptions
from tamis.errors import StorageError

ATTRIBUTES, VALUES = 12, 20


def dictionary(attributes=ATTRIBUTES):
    made = Dictionary()
    for i in range(attributes):
        made.attribute(f"a{i}")
    return made


def random_table(rng, count, names, first=0, width=4, attributes=ATTRIBUTES, values=VALUES):
    """Conjunctions of up to `width` predicates of all kinds; every third subscription has a second conjunction."""
    owners = np.sort(np.concatenate([np.arange(count), np.arange(0, count, 3)])).astype(np.int32) + np.int32(first)
    sizes = rng.integers(0, width + 1, len(owners))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(offsets[-1])
    attrs = rng.integers(0, attributes, n).astype(np.int32)
    ops = rng.choice(np.arange(9, dtype=np.uint8), n, p=[0.6] + [0.05] * 8)
    low = rng.integers(0, values, n)
    high = low + np.where(rng.random(n) < 0.5, 0, rng.integers(-1, values // 2, n))
    lo, hi = number_keys(low), number_keys(high)
    sets = number_keys(np.arange(values))
    start = rng.integers(0, values - 5, n)
    lo = np.where(ops >= IN_SET, start, np.where(ops == MISSING, 0, lo))
    hi = np.where(ops >= IN_SET, start + rng.integers(0, 5, n), np.where(ops == MISSING, 0, hi))
    everything = (ops == IN) & (rng.random(n) < 0.1)
    lo, hi = np.where(everything, KEY_MIN, lo), np.where(everything, KEY_MAX, hi)
    return SubscriptionTable(owners, offsets, attrs, ops, lo, hi, sets, names)


def table_with_owners(table, first):
    """The table with its owners moved up."""
    return replace(table, owners=table.owners + np.int32(first))


def random_events(rng, count, attributes=ATTRIBUTES, values=VALUES, repeats=True) -> EventBatch:
    sizes = rng.integers(0, 8, count)
    owner = np.repeat(np.arange(count), sizes)
    attrs = rng.integers(0, attributes + 2, len(owner)).astype(np.int32)
    if not repeats:
        _, kept = np.unique(owner * 1000 + attrs, return_index=True)
        owner, attrs = owner[kept], attrs[kept]
    keys = number_keys(rng.integers(-1, values + 1, len(owner)))
    return from_pairs(count, owner, attrs, keys, np.full(len(owner), -1, np.int32))


def alike_table(rng, count, names):
    """Conjunctions that ask for a0 = 1 and for some of a1 to a7: values of the first four, ranges or absence of the others."""
    chosen = rng.random((count, 7)) < 0.7
    rows, columns = np.nonzero(np.column_stack([np.ones(count, bool), chosen]))
    low = np.where(columns == 0, 1, rng.integers(0, 4, len(rows)))
    high = low + np.where(columns > 4, rng.integers(0, 3, len(rows)), 0)
    ops = np.where((columns == 7) & (rng.random(len(rows)) < 0.3), MISSING, IN).astype(np.uint8)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int64)
    lo, hi = (np.where(ops == MISSING, 0, number_keys(bound)) for bound in (low, high))
    owners = np.arange(count, dtype=np.int32)
    return SubscriptionTable(owners, offsets, columns.astype(np.int32), ops, lo, hi, np.zeros(0, np.int64), names)


def alike_pairs(rng, count):
    """The pairs of events with a0 = 1 and a1 to a5, or up to a7: owner, attribute, key."""
    sizes = rng.integers(6, 9, count)
    owner = np.repeat(np.arange(count), sizes)
    attrs = (np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)).astype(np.int32)
    return owner, attrs, number_keys(np.where(attrs == 0, 1, rng.integers(0, 4, len(owner))))


@pytest.mark.parametrize("repeats", [False, True])
def test_columns_of_values_and_of_ranges_equal_scan(repeats):
    rng = np.random.default_rng(21)
    table = alike_table(rng, 500, dictionary())
    engine = TamisEngine.build(table, TamisOptions(merge="never", look_up_ns=1e6))  # no pairs of values: large clusters
    blocks = engine.state.base.built.arrays.narrow
    widths = np.diff(blocks.block_columns)
    assert 0 < blocks.block_equal.sum() < widths.sum()
    assert np.array_equal(np.diff(blocks.block_starts), 2 * widths - blocks.block_equal)
    owner, attrs, keys = alike_pairs(rng, 200)
    if repeats:
        again = rng.integers(0, len(owner), 300)
        owner, attrs = np.concatenate([owner, owner[again]]), np.concatenate([attrs, attrs[again]])
        keys = np.concatenate([keys, number_keys(rng.integers(0, 4, 300))])
    events = from_pairs(200, owner, attrs, keys, np.full(len(owner), -1, np.int32))
    wanted = ScanEngine(table).match(events)
    assert len(wanted.ids) > 100
    assert engine.match(events).equals(wanted)
    engine.merge()
    assert engine.match(events).equals(wanted)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("repeats", [False, True])
def test_a_life_of_changes_merges_and_saves_equals_scan(seed, repeats, tmp_path):
    rng, names = np.random.default_rng(seed), dictionary()
    table = random_table(rng, 300, names)
    engine, oracle = TamisEngine.build(table, TamisOptions(merge="never")), ScanEngine(table)
    for step in range(8):
        gone = rng.integers(0, 800, 30).astype(np.int32)
        engine.remove(gone)
        oracle.remove(gone)
        fresh = random_table(rng, 20, names, first=1000 + 100 * step)
        engine.insert(fresh)
        oracle.insert(fresh)
        if step % 3 == 1:
            engine.merge()
        if step % 3 == 2:
            engine.save(tmp_path / "index")
            engine = TamisEngine.open(tmp_path / "index", TamisOptions(merge="never"))
        events = random_events(rng, 60, repeats=repeats)
        assert engine.match(events).equals(oracle.match(events))
        assert engine.stats().subscriptions == oracle.stats().subscriptions
        kept = engine.table()
        assert ScanEngine(kept).match(events).equals(oracle.match(events))


@pytest.mark.parametrize("changed", [False, True])
def test_a_frozen_engine_is_written_as_it_was(changed, tmp_path):
    """Whatever happens between freezing and writing: changes, a merge, words nobody used before."""
    rng, names = np.random.default_rng(3), dictionary()
    table, events = random_table(rng, 300, names), random_events(rng, 60)
    engine, oracle = TamisEngine.build(table, TamisOptions(merge="never")), ScanEngine(table)
    for each in (engine, oracle) if changed else ():
        each.insert(random_table(np.random.default_rng(4), 50, names, first=1000))
        each.remove(np.arange(0, 100, 3, dtype=np.int32))
    known = len(names)
    write = engine.frozen()
    names.attribute("new")
    engine.insert(random_table(rng, 50, names, first=2000))
    engine.remove(np.arange(50, dtype=np.int32))
    engine.merge()
    write(tmp_path / "index")
    again = TamisEngine.open(tmp_path / "index")
    assert len(again.dictionary) == known
    assert again.match(events).equals(oracle.match(events))
    assert again.stats().subscriptions == oracle.stats().subscriptions


@pytest.fixture(params=[False, True], ids=["as they come", "in order"])
def ordering(request, monkeypatch):
    """Batches as a small index takes them, and brought into the order of clusters as for a large one."""
    if request.param:
        monkeypatch.setattr(batch, "SORTED_ABOVE", -1)


@pytest.mark.usefixtures("ordering")
@pytest.mark.parametrize("shape", [{"width": 1}, {"attributes": 3, "values": 400}, {"width": 9, "attributes": 40}])
def test_large_clusters_and_cells_equal_scan(shape):
    rng = np.random.default_rng(11)
    attributes = shape.get("attributes", ATTRIBUTES)
    table = random_table(rng, 4000, dictionary(attributes), **shape)
    engine = TamisEngine.build(table, TamisOptions())
    for repeats in (False, True):
        events = random_events(rng, 80, attributes, shape.get("values", VALUES), repeats)
        assert engine.match(events).equals(ScanEngine(table).match(events))
        one_by_one = [engine.match(events.slice(i, i + 1)).ids for i in range(len(events))]
        whole = engine.match(events)
        assert all(sorted(ids) == sorted(whole.of(i)) for i, ids in enumerate(one_by_one))


@pytest.mark.usefixtures("ordering")
def test_any_number_of_threads_gives_identical_arrays():
    rng, names = np.random.default_rng(5), dictionary()
    table, events = random_table(rng, 3000, names), random_events(rng, 200)
    results = [TamisEngine.build(table, TamisOptions(threads=n)).match(events) for n in (1, 2, 5)]
    assert all(np.array_equal(results[0].ids, other.ids) for other in results)
    assert all(np.array_equal(results[0].offsets, other.offsets) for other in results)


def test_a_million_identical_subscriptions():
    count, names = 1_000_000, dictionary(2)
    lo, hi = number_keys(np.tile([3, 0], count)), number_keys(np.tile([3, 9], count))
    attrs, ops = np.tile(np.array([0, 1], np.int32), count), np.zeros(2 * count, np.uint8)
    offsets = np.arange(0, 2 * count + 1, 2)
    owners, no_sets = np.arange(count, dtype=np.int32), np.zeros(0, np.int64)
    table = SubscriptionTable(owners, offsets, attrs, ops, lo, hi, no_sets, names)
    engine = TamisEngine.build(table, TamisOptions())
    events = from_pairs(2, np.array([0, 0, 1]), np.array([0, 1, 0]), number_keys(np.array([3, 5, 3])), np.full(3, -1))
    assert np.diff(engine.match(events).offsets).tolist() == [count, 0]
    assert engine.stats().bytes_held < 64 * count


def test_an_attribute_with_a_million_constants_uses_wide_codes():
    count, names = 1_000_000, dictionary(1)
    keys = number_keys(np.arange(count))
    columns = (np.zeros(count, np.int32), np.zeros(count, np.uint8), keys, keys, np.zeros(0, np.int64))
    table = SubscriptionTable(np.arange(count, dtype=np.int32), np.arange(count + 1), *columns, names)
    engine = TamisEngine.build(table, TamisOptions())
    probes = np.array([0, 123_456, 999_999, 1_000_000])
    found = engine.match(from_pairs(4, np.arange(4), np.zeros(4, np.int32), number_keys(probes), np.full(4, -1)))
    assert [found.of(i).tolist() for i in range(4)] == [[0], [123_456], [999_999], []]


def test_the_longest_conjunction_and_the_widest_event():
    names = dictionary(300)
    for width in (64, 256, 300):
        attrs, keys = np.arange(width, dtype=np.int32), number_keys(np.arange(width))
        columns = (attrs, np.zeros(width, np.uint8), keys, keys, np.zeros(0, np.int64))
        table = SubscriptionTable(np.zeros(1, np.int32), np.array([0, width]), *columns, names)
        engine = TamisEngine.build(table, TamisOptions())
        event = from_pairs(1, np.zeros(width, np.int64), attrs, keys, np.full(width, -1))
        assert engine.match(event).ids.tolist() == [0]
        assert engine.match(event.slice(0, 0)).ids.tolist() == []
    rng = np.random.default_rng(9)
    table = random_table(rng, 3000, names, width=3, attributes=300)
    all_attrs = np.arange(256, dtype=np.int32)
    event = from_pairs(
        1, np.zeros(256, np.int64), all_attrs, number_keys(rng.integers(0, VALUES, 256)), np.full(256, -1)
    )
    assert TamisEngine.build(table, TamisOptions()).match(event).equals(ScanEngine(table).match(event))


def test_keys_follow_the_events(tmp_path):
    """Attribute 0 looks rare from the subscriptions but is in every event; a merge learns it."""
    rng, names = np.random.default_rng(7), dictionary(3)
    count = 20_000
    pairs = np.where(rng.random(count) < 0.1, 0, 1)
    attrs = np.stack([pairs, np.full(count, 2)], axis=1).ravel().astype(np.int32)
    keys = number_keys(np.stack([np.zeros(count), rng.integers(0, 50, count)], axis=1).ravel())
    lo, hi = keys, np.where(attrs == 2, number_keys(np.full(2 * count, 50)), keys)
    columns = (attrs, np.zeros(2 * count, np.uint8), lo, hi, np.zeros(0, np.int64))
    table = SubscriptionTable(np.arange(count, dtype=np.int32), np.arange(0, 2 * count + 1, 2), *columns, names)
    engine = TamisEngine.build(table, TamisOptions(merge="inline"))
    events = from_pairs(64, np.arange(64), np.zeros(64, np.int32), number_keys(np.zeros(64)), np.full(64, -1))
    before = engine.match(events)
    engine.merge()
    assert engine.match(events).equals(before)
    details = engine.stats().details
    assert details["merges"] == 1
    assert sum(details["keys"].values()) == count


def test_a_sample_sets_the_keys_from_the_start():
    """Conjunctions of three ranges: events that carry only the last attribute are told from others by the sample alone."""
    count, names = 5_000, dictionary(3)
    attrs = np.tile(np.arange(3, dtype=np.int32), count)
    low = np.random.default_rng(3).integers(0, 50, 3 * count)
    columns = (attrs, np.zeros(3 * count, np.uint8), number_keys(low), number_keys(low + 40), np.zeros(0, np.int64))
    table = SubscriptionTable(np.arange(count, dtype=np.int32), np.arange(0, 3 * count + 1, 3), *columns, names)
    events = from_pairs(900, np.arange(900), np.full(900, 2), number_keys(np.arange(900) % 90), np.full(900, -1))
    blind, informed = (TamisEngine.build(table, TamisOptions(sample=sample)) for sample in (None, events))
    assert informed.match(events).equals(blind.match(events))
    assert informed.stats().details["expected_candidates"] < blind.stats().details["expected_candidates"] / 2
    assert informed.stats().candidates <= blind.stats().candidates


def test_stats_tell_bytes_and_the_best_cost():
    rng, names = np.random.default_rng(5), dictionary()
    table, events = random_table(rng, 4000, names, width=3), random_events(rng, 100)
    engine = TamisEngine.build(table, TamisOptions(merge="never"))
    engine.match(events)
    stats = engine.stats()
    assert 0 < stats.details["bytes_touched"] < 100 * stats.bytes_held
    assert 0 < stats.details["best_candidates"] <= stats.conjunctions


def test_an_event_that_is_tested_again_for_want_of_room_is_counted_once():
    rng = np.random.default_rng(6)
    table = alike_table(rng, 4000, dictionary())
    owner, attrs, keys = alike_pairs(rng, 100)
    events = from_pairs(100, owner, attrs, keys, np.full(len(owner), -1, np.int32))
    engine = TamisEngine.build(table, TamisOptions(merge="never", look_up_ns=1e6))
    counts = []
    for _ in range(2):  # the first time nobody knows how many matches there will be
        before = (engine.candidates, engine.touched, engine.hits)
        assert len(engine.match(events).ids) > LEAST_ROOM
        counts.append(np.subtract((engine.candidates, engine.touched, engine.hits), before).tolist())
    assert counts[0] == counts[1]


def test_keys_are_chosen_anew_once_when_it_pays_and_not_again_when_it_does_not():
    """Everybody asks for two values that every event has: no keys can do better, and the second look knows."""
    count, names = 5000, dictionary(2)
    attrs = np.tile(np.arange(2, dtype=np.int32), count)
    lo = number_keys(np.tile([1, 5], count).astype(float))
    hi = np.where(attrs == 1, number_keys(np.full(2 * count, 9.0)), lo)
    columns = (attrs, np.zeros(2 * count, np.uint8), lo, hi, np.zeros(0, np.int64))
    table = SubscriptionTable(np.arange(count, dtype=np.int32), np.arange(0, 2 * count + 1, 2), *columns, names)
    engine = TamisEngine.build(table, TamisOptions(merge="inline"))
    pairs, width = 512, np.tile(np.arange(2, dtype=np.int32), 512)
    keys = number_keys(np.tile([1, 3], pairs).astype(float))  # the second value fails every range
    events = from_pairs(pairs, np.repeat(np.arange(pairs), 2), width, keys, np.full(2 * pairs, -1))
    for _ in range(64):
        assert not len(engine.match(events).ids)
    assert engine.merges <= 1


def test_whether_other_keys_pay_is_found_out_beside_the_matching(monkeypatch):
    rng = np.random.default_rng(4)
    table, events = random_table(rng, 500, dictionary()), random_events(rng, 512)
    engine, oracle = TamisEngine.build(table, TamisOptions()), ScanEngine(table).match(events)
    asked, answer = threading.Event(), threading.Event()

    def best(_base):
        asked.set()
        assert answer.wait(30)
        return 0.0

    monkeypatch.setattr(engine, "_best", best)
    for _ in range(64):  # whoever matches is not held up, though there is no answer yet
        assert engine.match(events).equals(oracle)
        engine.candidates += 10**7  # as if it had met so many in vain
    assert asked.wait(30)
    assert engine.merges == 0
    answer.set()
    engine.wait()
    assert engine.merges == 1
    assert engine.match(events).equals(oracle)


def test_single_events_alone_and_in_a_batch_are_the_same():
    rng, names = np.random.default_rng(6), dictionary()
    table, events = random_table(rng, 3000, names, width=3), random_events(rng, 60, repeats=False)
    engine = TamisEngine.build(table, TamisOptions(merge="never"))
    engine.insert(table_with_owners(random_table(rng, 200, names, width=3), 3000))
    engine.remove(np.arange(0, 3000, 7, dtype=np.int32))
    whole = engine.match(events)
    for e in range(len(events)):
        assert sorted(engine.match(events.slice(e, e + 1)).ids) == sorted(whole.of(e))
        one = events.slice(e, e + 1)
        found = engine.match_single(([], one.keys.tolist(), one.attrs.tolist()))
        assert found is not None
        assert sorted(found) == sorted(whole.of(e))


def test_a_disk_that_is_full_is_told_and_leaves_the_old_index(tmp_path):
    child = subprocess.run([sys.executable, "-c", FULL, str(tmp_path / "index")], capture_output=True, text=True)
    assert child.stdout.splitlines() == ["saved", "refused"], child.stderr
    assert len(list((tmp_path / "index").iterdir())) == 3, "nothing is left of the attempt"
    assert TamisEngine.open(tmp_path / "index").stats().subscriptions == 300


FULL = """
import resource, sys, numpy as np
from tests.unit.engines.test_tamis import dictionary, random_table
from tamis.engines.tamis import TamisEngine, TamisOptions
from tamis.errors import StorageError
tables = [random_table(np.random.default_rng(seed), count, dictionary()) for seed, count in ((1, 300), (2, 400))]
engines = [TamisEngine.build(table, TamisOptions()) for table in tables]
engines[0].save(sys.argv[1])
print("saved")
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    engines[1].save(sys.argv[1])
except StorageError as problem:
    assert sys.argv[1] in str(problem), problem
    print("refused")
"""


def test_a_damaged_or_foreign_index_is_refused(tmp_path):
    table = random_table(np.random.default_rng(0), 50, dictionary())
    TamisEngine.build(table, TamisOptions()).save(tmp_path / "index")
    file = next((tmp_path / "index").glob("arrays-*.bin"))
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    with pytest.raises(StorageError, match="checksum"):
        TamisEngine.open(tmp_path / "index")
    with pytest.raises(StorageError, match="cannot read"):
        TamisEngine.open(tmp_path / "nowhere")


SAVER = """
import sys, numpy as np
from tests.unit.engines.test_tamis import dictionary, random_table
from tamis.engines.tamis import TamisEngine, TamisOptions
tables = [random_table(np.random.default_rng(seed), count, dictionary()) for seed, count in ((1, 300), (2, 400))]
engines = [TamisEngine.build(table, TamisOptions()) for table in tables]
engines[0].save(sys.argv[1])
print("ready", flush=True)
while True:
    for engine in engines:
        engine.save(sys.argv[1])
"""


def test_killed_while_saving_leaves_the_old_or_the_new(tmp_path):
    rng = np.random.default_rng(3)
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(tmp_path / "index")], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "ready"
        time.sleep(float(rng.uniform(0.001, 0.06)))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert TamisEngine.open(tmp_path / "index").stats().subscriptions in (300, 400)


def test_conjunctions_that_cannot_hold_are_counted_alike_before_and_after_a_merge():
    names = dictionary()
    attrs, ops = np.zeros(3, np.int32), np.full(3, IN, np.uint8)
    lo, hi = np.array([1, 5, 9]), np.array([3, 4, 8])  # the second and the third interval are empty
    owners, offsets = np.array([0, 0, 1], np.int32), np.arange(4)
    table = SubscriptionTable(owners, offsets, attrs, ops, lo, hi, np.zeros(0, np.int64), names)
    engine = TamisEngine.build(table, TamisOptions(merge="never"))
    before = engine.stats()
    engine.merge()
    after = engine.stats()
    assert (before.subscriptions, before.conjunctions) == (after.subscriptions, after.conjunctions) == (2, 2)
