"""The data pipeline on Apache Spark: everything that touches data in bulk.

Subscriptions are compiled once into an index directory of flat arrays. Every worker maps it, so a node holds one copy however
many workers it runs; events stream through as Arrow batches, columnar from file to file.

    import tamis.spark as ts
    matches = ts.match(events, subscriptions)             # DataFrames in, DataFrame (event_id, subscription_id) out
    index = ts.compile_index(subscriptions, "index")      # or compile once, match often
    matches = ts.match(events, "index")

It starts on `local[*]` with nothing to configure and runs unchanged on a cluster. No SparkContext, no RDDs.
"""

from tamis.errors import MissingExtra

try:
    import pyspark  # noqa: F401
except ImportError as problem:
    raise MissingExtra("tamis.spark", "spark") from problem

from tamis.spark.compile import Compiled, compile_index
from tamis.spark.frames import EventColumns
from tamis.spark.generate import Workload, generate_events, generate_predicates, generate_subscriptions
from tamis.spark.match import MatchOptions, Plan, match, plan
from tamis.spark.output import Written, write_matches
from tamis.spark.profile import Profile, profile
from tamis.spark.session import local_session
from tamis.spark.stream import JSON_EVENTS, backfill, json_events, match_stream, read_output

__all__ = [
    "JSON_EVENTS",
    "Compiled",
    "EventColumns",
    "MatchOptions",
    "Plan",
    "Profile",
    "Workload",
    "Written",
    "backfill",
    "compile_index",
    "generate_events",
    "generate_predicates",
    "generate_subscriptions",
    "json_events",
    "local_session",
    "match",
    "match_stream",
    "plan",
    "profile",
    "read_output",
    "write_matches",
]
