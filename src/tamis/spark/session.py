"""A Spark session with settings that suit tamis; any other session works too."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

SETTINGS: dict[str, str] = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.python.daemon.module": "tamis.spark.daemon",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
SHORT: dict[str, Any] = {
    "spark_driver_extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark_executor_extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark_sql_codegen_wholeStage": False,
    "spark_sql_codegen_factoryMode": "NO_CODEGEN",
}
"""For sessions of a few small jobs, which had better start quickly than run fast: `local_session(**SHORT)`."""
LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
LOGGING = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
NOISE = b"WARNING: Using incubator modules"
"""Java says this of a module Spark itself asks for; no setting keeps it from doing so."""


def local_session(master: str = "local[*]", memory: str = "1g", partitions: int = 8, **settings: Any) -> SparkSession:
    """A session on this machine, or any other `master`; `settings` are Spark's, with underscores for dots.

    Workers run this very Python and import this very package, wherever they were installed.
    """
    os.environ["PYTHONPATH"] = path = search_path()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = {
        **SETTINGS,
        "spark.driver.memory": memory,
        "spark.driver.defaultJavaOptions": LOGGING,
        "spark.executorEnv.PYTHONPATH": path,
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.files.minPartitionNum": str(partitions),
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK["spark.driver.host"])
        chosen |= LOOPBACK
    chosen |= {key.replace("_", "."): str(value) for key, value in settings.items()}
    builder = SparkSession.builder.master(master).appName("tamis")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with without_noise():
        return builder.getOrCreate()


def search_path() -> str:
    """PYTHONPATH for workers: the directory of this package first, then whatever was set."""
    root = str(Path(__file__).resolve().parents[2])
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != root]
    return os.pathsep.join([root, *given])


@contextmanager
def without_noise() -> Iterator[None]:
    """A process started within writes its errors to ours for as long as it lives, but for lines of `NOISE`."""
    ours, (source, sink) = os.dup(2), os.pipe()
    os.dup2(sink, 2)
    os.close(sink)
    threading.Thread(target=forward, args=(source, os.dup(ours)), name="tamis-spark-errors", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def forward(source: int, target: int) -> None:
    """Copy lines until nobody is left to write any."""
    with open(source, "rb") as lines, open(target, "wb", buffering=0) as out:
        for line in lines:
            if not line.startswith(NOISE):
                out.write(line)
