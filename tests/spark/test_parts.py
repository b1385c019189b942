"""A task's part of the subscriptions, read by shape, means what the filters mean; merging dictionaries keeps the meaning."""

import random
import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.worlds import event
from tests.spark.test_match import world

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.saved import load_dictionary
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.registry import build_engine
from tamis.matcher import Matcher
from tamis.model.event import normalise
from tamis.model.limits import Limits
from tamis.predicates.text import TextIndex
from tamis.spark.merge import merge_into, renumber
from tamis.spark.parts import Reading, read_part_table
from tamis.spark.storage import read_ids

SHAPES = [
    "a = {0} and b < {1}",
    "a between {0} and {1}",
    "a = '{0}' or b = '{1}' and c > -{0}",
    "not (a = {0}) and b != {1}.5",
    "a starts with '{0}' and exists(b)",
    "d = true and a >= {0}",
    "a in ({0}, {1}) or missing(c)",
    "true",
    "a = 9007199254740993 and b = {0}",
]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(0, 4), st.integers(0, 4)), max_size=12), st.integers(0, 9)
)
def test_parts_mean_what_the_filters_mean(drawn, seed):
    filters = [shape.format(x, y) for shape, x, y in drawn] + [text for _, text in world(seed, 6, 0)[0]]
    chance = random.Random(seed)
    stream = [event(chance) for _ in range(25)]
    stream += [normalise({"a": chance.choice([1, "1", "2x"]), "b": chance.randrange(5), "d": True}) for _ in range(15)]
    matcher = Matcher("scan")
    matcher.subscribe_many(enumerate(filters))
    expected = [set(ids) for ids in matcher.match_many([{n: list(v) for n, v in e.items()} for e in stream])]
    with tempfile.TemporaryDirectory() as staging:
        reading = Reading(staging, None, Limits())
        half = len(filters) // 2
        common, tables = Dictionary(), []
        names: list[int] = []
        for ids in (range(half), range(half, len(filters))):
            batch = pa.record_batch([pa.array(ids, pa.int64()), pa.array([filters[i] for i in ids])], ["id", "filter"])
            for told in reading.texts(iter([batch])):
                assert told.column("quarantined").to_pylist() == [0]
                part = Path(staging) / told.column("part")[0].as_py()
                own = load_dictionary(part / "dictionary.arrow")
                maps = merge_into(common, own)
                table = renumber(read_part_table(part, own), *maps, common)
                shift = table.owners + len(names)
                tables.append(
                    SubscriptionTable(
                        shift, table.offsets, table.attrs, table.ops, table.lo, table.hi, table.sets, common
                    )
                )
                names += read_ids(part).column("id").to_pylist()
        whole = SubscriptionTable.concat([SubscriptionTable.empty(common), *tables])
        found = build_engine("scan", whole).match(TextIndex(common).extend(encode_events(stream, common)))
        assert [{names[i] for i in found.of(e)} for e in range(len(stream))] == expected
