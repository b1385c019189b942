"""A streaming query in a process of its own, for tests that kill it: source, index and output directories as arguments."""

import sys

import tamis.spark as ts


def main(source: str, index: str, output: str) -> None:
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    spark = ts.local_session("local[1]", memory="512m", partitions=2, spark_driver_extraJavaOptions=quick)
    raw = spark.readStream.option("maxFilesPerTrigger", 1).text(source)
    ts.match_stream(ts.json_events(raw), index, output, columns=ts.JSON_EVENTS, available_now=True).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
