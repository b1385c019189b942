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
from tamis.spark.match import Plan, match, plan
from tamis.spark.session import local_session

__all__ = ["Compiled", "EventColumns", "Plan", "compile_index", "local_session", "match", "plan"]
