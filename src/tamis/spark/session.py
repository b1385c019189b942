"""A Spark session with settings that suit tamis; any other session works too."""

import os
import sys
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
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def local_session(master: str = "local[*]", memory: str = "1g", partitions: int = 8, **settings: Any) -> SparkSession:
    """A session on this machine; `settings` are Spark's, with underscores for dots.

    Workers run this very Python and import this very package, wherever they were installed.
    """
    os.environ["PYTHONPATH"] = path = search_path()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("tamis").config("spark.driver.memory", memory)
    builder = builder.config("spark.executorEnv.PYTHONPATH", path)
    builder = builder.config("spark.sql.shuffle.partitions", str(partitions))
    for name, value in {**SETTINGS, **{key.replace("_", "."): str(v) for key, v in settings.items()}}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def search_path() -> str:
    """PYTHONPATH for workers: the directory of this package first, then whatever was set."""
    root = str(Path(__file__).resolve().parents[2])
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != root]
    return os.pathsep.join([root, *given])
