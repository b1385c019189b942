"""What the pipeline costs on this machine: compile, match from Parquet to Parquet, the kernel alone, and the baselines."""

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tamis.spark.compile import compile_index
from tamis.spark.frames import EventColumns
from tamis.spark.generate import Workload, generate_events, generate_predicates, generate_subscriptions
from tamis.spark.index import Index
from tamis.spark.layout import current_version
from tamis.spark.match import match

COLUMNS = EventColumns(spread=("attributes",))
SAMPLE = 4000


@dataclass
class Memory:
    """Samples the processes below this one while something runs; figures in MiB."""

    driver: float = 0.0
    workers: int = 0
    resident: float = 0.0
    proportional: float = 0.0
    mapped: float = 0.0
    mapped_proportional: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def __enter__(self) -> "Memory":
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.5):
            self.driver = max(self.driver, psutil.Process().memory_info().rss / 2**20)
            workers = [p for p in psutil.Process().children(recursive=True) if is_worker(p)]
            maps = [about_index(p.pid) for p in workers]
            total = sum(resident for _, resident, _, _ in maps)
            if total > self.resident:
                self.workers, self.resident = len(workers), total
                self.proportional = sum(own for own, *_ in maps)
                self.mapped = sum(mapped for *_, mapped, _ in maps)
                self.mapped_proportional = sum(shared for *_, shared in maps)


def is_worker(process: psutil.Process) -> bool:
    """Whether a process is a Python worker of Spark (not the daemon that starts them)."""
    try:
        parent = process.parent()
        return parent is not None and "pyspark.daemon" in parent.cmdline()
    except psutil.Error:
        return False


def about_index(pid: int) -> tuple[float, float, float, float]:
    """(proportional, resident, index pages resident, index pages proportional) of a process, in MiB."""
    totals = np.zeros(4)
    try:
        of_index = False
        for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in ("Rss", "Pss"):
                size = int(rest.split()[0]) / 1024
                totals[1 if name == "Rss" else 0] += size
                if of_index:
                    totals[2 if name == "Rss" else 3] += size
            elif "-" in name.split(" ")[0]:
                of_index = "/shard-" in line
    except (OSError, ValueError):
        pass
    return tuple(totals.tolist())  # type: ignore[return-value]


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what was returned."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def measure(
    spark: SparkSession,
    place: Path,
    workload: Workload,
    subscriptions: int,
    events: int,
    *,
    texts: bool = True,
    baseline: int = 1000,
    engine: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything the sizing page needs, as plain figures."""
    place.mkdir(parents=True, exist_ok=True)
    options = engine or {}
    result: dict[str, Any] = {"subscriptions": subscriptions, "events": events}
    source = place / "events"
    generate_events(spark, workload, events, 8).write.mode("overwrite").parquet(str(source))
    rows = place / "predicates"
    generate_predicates(spark, workload, subscriptions, 8).write.mode("overwrite").parquet(str(rows))
    with Memory() as memory:
        seconds, compiled = timed(lambda: compile_index(spark.read.parquet(str(rows)), place / "index", **options))
    result |= {"compile_rows_s": seconds, "driver_mib": memory.driver, "index_mib": compiled.manifest.bytes / 2**20}
    if texts:
        shaped = Workload(**{**{n: getattr(workload, n) for n in Workload.__dataclass_fields__}, "shapes": 50})
        generate_subscriptions(spark, shaped, subscriptions, 8).write.mode("overwrite").parquet(str(place / "texts"))
        with Memory() as memory:
            seconds, _ = timed(
                lambda: compile_index(spark.read.parquet(str(place / "texts")), place / "text-index", **options)
            )
        result |= {"compile_texts_s": seconds, "driver_texts_mib": memory.driver}
        shutil.rmtree(place / "text-index")
    kernel, single = kernel_rate(spark.read.parquet(str(source)).limit(SAMPLE), place / "index")
    result |= {"kernel_us_per_event": kernel * 1e6, "encode_and_kernel_us_per_event": single * 1e6}
    run_match(spark, source, place, 2000)
    with Memory() as memory:
        seconds, _ = timed(lambda: run_match(spark, source, place, events))
    found = spark.read.parquet(str(place / "matches")).count()
    result |= {"match_s": seconds, "matches": found, "events_per_s": events / seconds}
    result |= {"part_of_two_kernels": events / seconds * kernel / 2, "workers": memory.workers}
    result |= {"workers_resident_mib": memory.resident, "workers_proportional_mib": memory.proportional}
    result |= {"index_resident_mib": memory.mapped, "index_proportional_mib": memory.mapped_proportional}
    return result | baselines(spark, place, workload, baseline, options)


def run_match(spark: SparkSession, source: Path, place: Path, events: int) -> None:
    """One match job, Parquet to Parquet."""
    frame = spark.read.parquet(str(source))
    frame = frame if events > SAMPLE else frame.limit(events).repartition(2)
    match(frame, place / "index", columns=COLUMNS, strategy="broadcast").write.mode("overwrite").parquet(
        str(place / "matches")
    )


def kernel_rate(sample: DataFrame, index: Path) -> tuple[float, float]:
    """Seconds per event of the engine alone, and with encoding, in this process, one thread."""
    opened = Index(index / current_version(index))
    batch = sample.toArrow().combine_chunks().to_batches()[0]
    encoded = COLUMNS.encode(batch, opened.dictionary)
    events = opened.text.extend(encoded.batch)
    engine = opened.shards[0].engine
    engine.match(events.slice(0, 100))

    def kernel() -> None:
        for start in range(0, len(events), 1000):
            engine.match(events.slice(start, min(start + 1000, len(events))))

    best = min(timed(kernel)[0] for _ in range(3))
    whole = min(timed(lambda: COLUMNS.encode(batch, opened.dictionary))[0] for _ in range(3))
    return best / len(events), (best + whole) / len(events)


def baselines(
    spark: SparkSession, place: Path, workload: Workload, size: int, options: dict[str, Any]
) -> dict[str, Any]:
    """`size` events × `size` subscriptions by broadcast, by the two queries, and by a cross join with a UDF."""
    small = place / "small"
    generate_events(spark, workload, size, 2).write.mode("overwrite").parquet(str(small / "events"))
    generate_predicates(spark, workload, size, 2).write.mode("overwrite").parquet(str(small / "rows"))
    events = spark.read.parquet(str(small / "events"))
    compile_index(spark.read.parquet(str(small / "rows")), small / "index", **options)
    found: dict[str, Any] = {"baseline_pairs": size * size}
    for strategy in ("broadcast", "sql", "sql-grouping"):
        frame = match(events, small / "index", columns=COLUMNS, strategy=strategy)
        found[f"{strategy}_s"] = min(timed(frame.count)[0] for _ in range(2))
    found["udf_s"] = timed(cross_join(spark, small, events).count)[0]
    return found


def cross_join(spark: SparkSession, small: Path, events: DataFrame) -> DataFrame:
    """Every pair through a Python function: what one writes first."""
    rows = spark.read.parquet(str(small / "rows"))
    wanted = rows.groupBy("id").agg(
        f.collect_list(f.struct("attribute", "integer", f.coalesce("upper_integer", "integer").alias("upper"))).alias(
            "all"
        )
    )

    @f.udf("boolean")
    def holds(attributes: dict[str, int], predicates: list[Any]) -> bool:
        return all(p.attribute in attributes and p.integer <= attributes[p.attribute] <= p.upper for p in predicates)

    return events.crossJoin(wanted).where(holds("attributes", "all")).select("event_id", "id")
