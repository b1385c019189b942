"""Events straight from Parquet files: workers read them as Arrow columns, so no event passes through Spark as a row.

Spark only hands out row groups. Directories partitioned by columns (`day=2024-05-01/`) are left to Spark's own reader.
"""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tamis.errors import DataError
from tamis.spark.request import Batches

ROWS = 10_000
"""Of a batch."""


def row_groups(spark: SparkSession, source: Path) -> DataFrame | None:
    """One row (file, group) per row group below `source`, in tasks of about the same size; None if Spark must read it."""
    files = sorted(source.rglob("*.parquet")) if source.is_dir() else [source]
    files = [file for file in files if not any(part.startswith(("_", ".")) for part in file.relative_to(source).parts)]
    if not files:
        raise DataError(f"there are no Parquet files in {source}")
    if any("=" in part for file in files for part in file.relative_to(source).parts[:-1]):
        return None
    groups = [(str(file), n, size) for file in files for n, size in enumerate(group_sizes(file))]
    tasks = min(len(groups), int(str(spark.conf.get("spark.sql.shuffle.partitions"))))
    held, dealt = [0] * tasks, list[tuple[int, str, int]]()
    for file, group, size in sorted(groups, key=lambda each: -each[2]):
        task = held.index(min(held))
        held[task] += size
        dealt.append((task, file, group))
    frame = spark.createDataFrame(dealt, "task int, file string, row_group int")
    return frame.repartitionByRange(max(1, tasks), "task").select("file", "row_group")


def group_sizes(file: Path) -> list[int]:
    """Rows of each row group."""
    try:
        about = pq.read_metadata(file)
    except (OSError, ValueError) as problem:
        raise DataError(f"cannot read {file}: {problem}") from problem
    return [about.row_group(n).num_rows for n in range(about.num_row_groups)]


def read_groups(columns: list[str], then: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """The function a task runs over its row groups: their events, handed to `then`."""

    def events(groups: Batches) -> Batches:
        for batch in groups:
            for row in batch.to_pylist():
                with pq.ParquetFile(row["file"]) as file:
                    yield from file.iter_batches(ROWS, [row["row_group"]], columns, use_threads=False)

    return lambda groups: then(events(groups))
