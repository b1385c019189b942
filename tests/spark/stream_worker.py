"""A streaming query in a process of its own, for tests that kill it: source, index and output directories as arguments."""

import sys

import tamis.spark as ts
from tamis.spark.session import SHORT


def main(source: str, index: str, output: str) -> None:
    spark = ts.local_session("local[1]", memory="512m", partitions=1, **SHORT)
    raw = spark.readStream.option("maxFilesPerTrigger", 1).text(source)
    ts.match_stream(ts.json_events(raw), index, output, columns=ts.JSON_EVENTS, available_now=True).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
