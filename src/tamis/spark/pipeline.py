"""generate → profile → compile → match → report. Finished stages are remembered, so a failed run goes on where it stopped.

A stage's record holds a digest of everything its result depends on; it is skipped when the digest is the same. Outputs are
written beside and moved into place, so a stage is done or not begun.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tamis.engines.registry import DEFAULT
from tamis.spark.compile import compile_index
from tamis.spark.generate import generate_events, generate_subscriptions
from tamis.spark.layout import write_text
from tamis.spark.match import plan
from tamis.spark.output import MATCHES, write_matches
from tamis.spark.profile import Profile, profile
from tamis.spark.report import write_report
from tamis.spark.session import local_session
from tamis.spark.spec import Source, Spec

Facts = dict[str, Any]
Watcher = Callable[[str, str, Facts], None]
"""Called with (stage, state, facts); states are `running`, `done`, `skipped`, `failed`."""
STAGES = ("generate", "profile", "compile", "match", "report")
TOP = 20


@dataclass(frozen=True)
class Record:
    """What is known of a finished stage."""

    digest: str
    seconds: float
    facts: Facts


class Pipeline:
    """A run of a specification in its output directory."""

    def __init__(self, spec: Spec, watcher: Watcher = lambda stage, state, facts: None) -> None:
        self.spec, self.watcher = spec, watcher
        self.records: dict[str, Record] = {}

    def run(self, fresh: bool = False) -> Path:
        """All stages in order; returns the path of the report."""
        if fresh:
            shutil.rmtree(self.spec.output, ignore_errors=True)
        (self.spec.output / "stages").mkdir(parents=True, exist_ok=True)
        spark = local_session(self.spec.master, self.spec.memory, self.spec.partitions)
        digest = ""
        for stage in STAGES:
            digest = hashlib.blake2b(f"{digest} {stage} {self.inputs(stage)}".encode(), digest_size=16).hexdigest()
            self.step(stage, digest, spark)
        return self.spec.output / "report.html"

    def step(self, stage: str, digest: str, spark: SparkSession) -> None:
        """One stage, unless its record says it is done."""
        place = self.spec.output / "stages" / f"{stage}.json"
        done = read_record(place)
        if done is not None and done.digest == digest:
            self.records[stage] = done
            self.watcher(stage, "skipped", done.facts)
            return
        self.watcher(stage, "running", {})
        start = time.perf_counter()
        try:
            facts: Facts = getattr(self, stage)(spark)
        except BaseException:
            self.watcher(stage, "failed", {})
            raise
        record = Record(digest, time.perf_counter() - start, facts)
        write_text(place, json.dumps(asdict(record), indent=1))
        self.records[stage] = record
        self.watcher(stage, "done", {**facts, "seconds": round(record.seconds, 1)})

    def inputs(self, stage: str) -> str:
        """What a stage depends on besides the stages before it."""
        s = self.spec
        if stage == "generate":
            return f"{s.workload} {s.counts} {stamp(s.subscriptions)} {stamp(s.events)} {s.columns}"
        return {"compile": f"{s.engine} {s.options} {s.operators}", "match": s.strategy}.get(stage, "")

    def generate(self, spark: SparkSession) -> Facts:
        """Write the synthetic data, or see that the given data are there."""
        if self.spec.workload is None:
            return {"read": "the given data"}
        subscriptions, events = self.spec.counts
        parts = max(2, self.spec.partitions)
        replace(
            generate_subscriptions(spark, self.spec.workload, subscriptions, parts), self.spec.output / "subscriptions"
        )
        replace(generate_events(spark, self.spec.workload, events, parts), self.spec.output / "events")
        return {"subscriptions": subscriptions, "events": events}

    def profile(self, spark: SparkSession) -> Facts:
        """Look at the events once."""
        found = profile(self.events(spark), self.spec.columns)
        found.save(self.spec.output / "profile.json")
        return {"events": found.events, "malformed": found.malformed, "attributes": len(found.attributes)}

    def compile(self, spark: SparkSession) -> Facts:
        """The index, from nothing: what an earlier run left, finished or not, is of no use to this one."""
        shutil.rmtree(self.spec.output / "index", ignore_errors=True)
        compiled = compile_index(
            self.subscriptions(spark),
            self.spec.output / "index",
            engine=self.spec.engine or DEFAULT,
            options=self.spec.options,
            operators=self.spec.operators,
            partitions=self.spec.partitions,
            profile=Profile.load(self.spec.output / "profile.json"),
        )
        kept = ("version", "engine", "subscriptions", "conjunctions", "predicates", "quarantined", "bytes")
        return {name: getattr(compiled.manifest, name) for name in kept}

    def match(self, spark: SparkSession) -> Facts:
        """All pairs, and malformed events apart."""
        events, index = self.events(spark), self.spec.output / "index"
        chosen = plan(events, index, strategy=self.spec.strategy, columns=self.spec.columns)
        place = self.spec.output / "found"
        shutil.rmtree(place, ignore_errors=True)
        source = self.spec.events or Source(self.spec.output / "events")
        written = write_matches(
            source.path if source.format == "parquet" else events,
            index,
            place,
            strategy=self.spec.strategy,
            columns=self.spec.columns,
            on_error="keep",
        )
        return {"strategy": chosen.strategy, "reason": chosen.reason, **asdict(written)}

    def report(self, spark: SparkSession) -> Facts:
        """Counts, throughput, skew, the busiest subscriptions, plots."""
        matches = self.matches(spark)
        busiest = matches.groupBy("subscription_id").count().orderBy(f.desc("count"), "subscription_id").limit(TOP)
        per_event = matches.groupBy("event_id").count().select(f.floor(f.log2("count")).alias("power"))
        spread = per_event.groupBy("power").count().orderBy("power").collect()
        summary = {
            "busiest": [(str(row[0]), row[1]) for row in busiest.collect()],
            "spread": [(int(row.power), row["count"]) for row in spread],
        }
        records = {name: asdict(record) for name, record in self.records.items()}
        write_report(
            self.spec.output / "report.html", records, summary, Profile.load(self.spec.output / "profile.json")
        )
        return {"report": str(self.spec.output / "report.html")}

    def subscriptions(self, spark: SparkSession) -> DataFrame:
        """The subscriptions of the run."""
        return read(spark, self.spec.subscriptions or Source(self.spec.output / "subscriptions"))

    def events(self, spark: SparkSession) -> DataFrame:
        """The events of the run."""
        return read(spark, self.spec.events or Source(self.spec.output / "events"))

    def matches(self, spark: SparkSession) -> DataFrame:
        """The pairs found by the match stage."""
        place = self.spec.output / "found" / MATCHES
        schema = "event_id string, subscription_id string"
        return spark.read.parquet(str(place)) if any(place.glob("*")) else spark.createDataFrame([], schema)


def read(spark: SparkSession, source: Source) -> DataFrame:
    """A table from its files."""
    reader = spark.read.option("header", "true").option("inferSchema", "true")
    return reader.format(source.format).load(str(source.path))


def stamp(source: Source | None) -> str:
    """Changes whenever the files of a source do."""
    if source is None:
        return ""
    files = sorted(source.path.rglob("*")) if source.path.is_dir() else [source.path]
    return f"{source} " + " ".join(f"{file.name}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files)


def replace(frame: DataFrame, place: Path) -> None:
    """Write a table beside, then put it in place of what was there."""
    fresh = place.with_name(f".{place.name}")
    frame.write.mode("overwrite").parquet(str(fresh))
    shutil.rmtree(place, ignore_errors=True)
    fresh.rename(place)


def read_record(place: Path) -> Record | None:
    """A stage's record, if there is a readable one."""
    try:
        return Record(**json.loads(place.read_text()))
    except (OSError, ValueError, TypeError):
        return None
