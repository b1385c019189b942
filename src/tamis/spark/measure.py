"""What the pipeline costs on this machine: compile, match from Parquet to Parquet, where its time goes, and the baselines."""

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tamis.spark.broadcast import SLICE, matcher
from tamis.spark.compile import compile_index
from tamis.spark.frames import EventColumns
from tamis.spark.generate import Workload, generate_events, generate_predicates, generate_subscriptions
from tamis.spark.index import Index, open_index
from tamis.spark.layout import current_version
from tamis.spark.match import match, prepare
from tamis.spark.memory import Memory
from tamis.spark.output import TOLD, Written, over, write_matches
from tamis.spark.profile import profile
from tamis.spark.request import Batches, Request

COLUMNS = EventColumns(spread=("attributes",))
FILES, SHAPES = 16, 50
SAMPLE = 8000
MOST_CROSSED = 2000
"""Events and subscriptions of a cross join, at most: it takes a Python call for every pair."""
Figures = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """A measurement: a session, a place for its data, what to generate, and how much."""

    spark: SparkSession
    place: Path
    workload: Workload
    subscriptions: int
    events: int
    cores: int
    options: dict[str, Any]

    def run(self, texts: bool, baseline: int, told: Callable[[str, Figures], None]) -> Figures:
        """Everything the sizing page needs, as plain figures; `told` hears of each step when it is done."""
        steps: list[Callable[[], Figures]] = [self.generate, self.compile_rows, self.match, self.breakdown]
        steps += [self.compile_texts] if texts else []
        steps += [partial(self.baselines, size) for size in (baseline, baseline // 5) if size]
        found: Figures = {}
        for step in steps:
            seconds, figures = timed(step)
            told(f"{getattr(step, '__name__', 'baselines')} ({seconds:.1f} s)", figures)
            found |= figures
        return found

    def generate(self) -> Figures:
        """Events and subscriptions as files."""
        self.place.mkdir(parents=True, exist_ok=True)
        self.write("events", generate_events(self.spark, self.workload, self.events, FILES))
        self.write("predicates", generate_predicates(self.spark, self.workload, self.subscriptions, FILES))
        sizes = {"subscriptions": self.subscriptions, "events": self.events, "cores": self.cores}
        return sizes | {"workload": asdict(self.workload)}

    def write(self, name: str, frame: DataFrame) -> None:
        """Keep generated rows, so that what is measured starts from files."""
        frame.write.mode("overwrite").parquet(str(self.place / name))

    def read(self, name: str) -> DataFrame:
        """What `write` kept."""
        return self.spark.read.parquet(str(self.place / name))

    def compile_rows(self) -> Figures:
        """Compile predicate rows under the statistics of the events."""
        looking, seen = timed(lambda: profile(self.read("events").limit(SAMPLE), COLUMNS))
        with Memory() as memory:
            seconds, compiled = timed(
                lambda: compile_index(self.read("predicates"), self.place / "index", profile=seen, **self.options)
            )
        directory = Path(compiled.index) / compiled.manifest.version
        size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
        about = {"profile_s": looking, "compile_rows_s": seconds, "index_mib": size / 2**20}
        return about | {"engine": compiled.manifest.engine} | memory.figures("compile_rows")

    def compile_texts(self) -> Figures:
        """Compile the same number of subscriptions from text of a few shapes."""
        shaped = replace(self.workload, shapes=SHAPES)
        self.write("texts", generate_subscriptions(self.spark, shaped, self.subscriptions, FILES))
        with Memory() as memory:
            seconds, _ = timed(lambda: compile_index(self.read("texts"), self.place / "text-index", **self.options))
        shutil.rmtree(self.place / "text-index")
        return {"compile_texts_s": seconds, "shapes": SHAPES} | memory.figures("compile_texts")

    def match(self) -> Figures:
        """The whole job, files to files, beside the kernel alone in one thread."""
        kernel, alone = kernel_costs(self.read("events").limit(SAMPLE), self.place / "index")
        self.match_into("warm", self.read("events").limit(SAMPLE).repartition(self.cores))
        with Memory() as memory:
            seconds, written = timed(lambda: self.match_into("matches", self.place / "events"))
        rate = self.events / seconds
        return {
            **alone,
            "match_s": seconds,
            "matches": written.matches,
            "events_per_s": rate,
            "share_of_kernel_rate": rate * kernel / self.cores,
        } | memory.figures("match")

    def match_into(self, name: str, events: DataFrame | Path) -> Written:
        """One match into a new directory."""
        shutil.rmtree(self.place / name, ignore_errors=True)
        return write_matches(events, self.place / "index", self.place / name, columns=COLUMNS, strategy="broadcast")

    def breakdown(self) -> Figures:
        """Core-microseconds per event of the job cut off after each of its steps; each includes those before it."""
        _, request, events = prepare(self.read("events"), self.place / "index", {"columns": COLUMNS})
        found, unit = {}, self.cores / self.events * 1e6
        for name, step in (("read", reading), ("encode", encode), ("match", kernel_only), ("pairs", matcher)):
            job = over(events, self.place / "events", counted(step(request)))
            found[f"upto_{name}_us_per_event"] = timed(job.collect)[0] * unit
        job = events.mapInArrow(counted(reading(request)), TOLD)
        found["read_by_spark_us_per_event"] = timed(job.collect)[0] * unit
        seconds, _ = timed(lambda: self.match_into("by-spark", self.read("events")))
        found["read_by_spark_match_s"] = seconds
        frame, place = self.by("broadcast"), str(self.place / "by-spark")
        found["read_and_written_by_spark_match_s"], _ = timed(lambda: frame.write.mode("overwrite").parquet(place))
        return found

    def baselines(self, size: int) -> Figures:
        """`size` events × `size` subscriptions by broadcast, the two queries, and, if there are few, a cross join."""
        small = replace(self, place=self.place / f"small-{size}", subscriptions=size, events=size)
        small.generate()
        compile_index(small.read("predicates"), small.place / "index", **self.options)
        small.by("broadcast").count()
        found: Figures = {}
        for way in ("broadcast", "sql", "sql-grouping", *(["udf"] if size <= MOST_CROSSED else [])):
            frame = cross_join(small.read("events"), small.read("predicates")) if way == "udf" else small.by(way)
            found[f"{way}_{size}x{size}_s"], found[f"{way}_{size}x{size}_matches"] = timed(frame.count)
        return found

    def by(self, strategy: str) -> DataFrame:
        """The pairs by a strategy."""
        return match(self.read("events"), self.place / "index", columns=COLUMNS, strategy=strategy)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what was returned."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def kernel_costs(sample: DataFrame, index: Path) -> tuple[float, Figures]:
    """Seconds per event of the engine alone, in this process, one thread; and more about it."""
    opened = Index(index.absolute() / current_version(index))
    batch = sample.toArrow().combine_chunks().to_batches()[0]
    encoded = COLUMNS.encode(batch, opened.dictionary)
    events = opened.text.extend(encoded.batch)

    def kernel() -> None:
        for start in range(0, len(events), SLICE):
            for shard in opened.shards:
                shard.engine.match(events.slice(start, min(start + SLICE, len(events))))

    kernel()
    best = min(timed(kernel)[0] for _ in range(3)) / len(events)
    encoding = min(timed(lambda: COLUMNS.encode(batch, opened.dictionary))[0] for _ in range(3)) / len(events)
    stats = [shard.engine.stats() for shard in opened.shards]
    seen = max(1, stats[0].events)
    return best, {
        "kernel_us_per_event": best * 1e6,
        "encoding_us_per_event": encoding * 1e6,
        "candidates_per_event": sum(each.candidates for each in stats) / seen,
        "matches_per_event": sum(each.matches for each in stats) / seen,
    }


def counted(step: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """A step whose result is thrown away but for its size."""

    def run(batches: Batches) -> Batches:
        yield pa.record_batch({"file": ["none"], "rows": [sum(len(batch) for batch in step(batches))]})

    return run


def reading(_: Request) -> Callable[[Batches], Batches]:
    """Events reach the worker."""
    return lambda batches: batches


def encode(request: Request) -> Callable[[Batches], Batches]:
    """… and are encoded."""

    def run(batches: Batches) -> Batches:
        index = open_index(request.directory)
        for batch in batches:
            index.text.extend(request.read(batch, index.dictionary)[0].batch)
            yield batch

    return run


def kernel_only(request: Request) -> Callable[[Batches], Batches]:
    """… and matched, to dense numbers."""

    def run(batches: Batches) -> Batches:
        index = open_index(request.directory)
        for batch in batches:
            events = index.text.extend(request.read(batch, index.dictionary)[0].batch)
            for start in range(0, len(events), SLICE):
                for shard in index.shards:
                    shard.engine.match(events.slice(start, min(start + SLICE, len(events))))
            yield batch

    return run


def cross_join(events: DataFrame, predicates: DataFrame) -> DataFrame:
    """Every pair through a Python function: what one writes first."""
    upper = f.coalesce("upper_integer", "integer").alias("upper")
    wanted = predicates.groupBy("id").agg(f.collect_list(f.struct("attribute", "integer", upper)).alias("all"))

    def holds(attributes, predicates):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (Spark reads hints its own way)
        return all(p.attribute in attributes and p.integer <= attributes[p.attribute] <= p.upper for p in predicates)

    return events.crossJoin(wanted).where(f.udf(holds, "boolean")("attributes", "all")).select("event_id", "id")
