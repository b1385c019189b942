"""Events straight from Parquet files: workers read them as Arrow columns, so no event passes through Spark as a row.

Spark only hands out row groups. Directories partitioned by columns (`day=2024-05-01/`) are left to Spark's own reader.
"""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tamis.errors import DataError
from tamis.spark.request import Batches

Group = tuple[str, int]
"""A file and the number of a row group in it."""
ROWS = 10_000
"""Of a batch."""


def row_groups(source: Path, tasks: int) -> list[list[Group]] | None:
    """The row groups below `source`, dealt to tasks so that all have about as many rows; None if Spark must read them."""
    files = sorted(source.rglob("*.parquet")) if source.is_dir() else [source]
    files = [file for file in files if not any(part.startswith(("_", ".")) for part in file.relative_to(source).parts)]
    if not files:
        raise DataError(f"there are no Parquet files in {source}")
    if any("=" in part for file in files for part in file.relative_to(source).parts[:-1]):
        return None
    groups = [(size, (str(file), number)) for file in files for number, size in enumerate(group_sizes(file))]
    dealt: list[list[Group]] = [[] for _ in range(max(1, min(len(groups), tasks)))]
    held = [0] * len(dealt)
    for size, group in sorted(groups, key=lambda each: -each[0]):
        task = held.index(min(held))
        held[task] += size
        dealt[task].append(group)
    return dealt


def group_sizes(file: Path) -> list[int]:
    """Rows of each row group."""
    try:
        about = pq.read_metadata(file)
    except (OSError, ValueError) as problem:
        raise DataError(f"cannot read {file}: {problem}") from problem
    return [about.row_group(n).num_rows for n in range(about.num_row_groups)]


def over_groups(
    spark: SparkSession, dealt: list[list[Group]], columns: list[str], run: Callable[[Batches], Batches], schema: str
) -> DataFrame:
    """What `run` makes of the events in the row groups; a task for each list of them."""

    def events(tasks: Batches) -> Batches:
        for batch in tasks:
            for task in batch.column("id").to_pylist():
                for name, group in dealt[task]:
                    with pq.ParquetFile(name) as file:
                        yield from file.iter_batches(ROWS, [group], columns, use_threads=False)

    numbered = spark.range(0, len(dealt), 1, len(dealt))
    return numbered.mapInArrow(lambda tasks: run(events(tasks)), schema)
