"""Workloads of any size, made by executors. A row depends on the seed and its own number alone, so the same specification
gives the same rows on any number of partitions and machines.

Events are noisy copies of a few *templates* (an attribute set with values); a part of the subscriptions is built around
templates too, which sets how many of them an event matches: about `around × subscriptions / templates × keep^predicates`.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from tamis.encoding.keys import Int64Array
from tamis.errors import DataError
from tamis.spark.hashing import mixed
from tamis.spark.request import Batches


@dataclass(frozen=True, slots=True)
class Workload:
    """A family of subscriptions and events over integer attributes a0, a1, …

    `equality` of the predicates are equalities, the rest ranges of `width` values around theirs. With `shapes`, subscriptions
    have only that many different shapes (attributes and operators) and differ in their constants. Event values of template
    attributes are kept with probability `keep`, else drawn anew. `skew` > 0 makes low attributes more frequent.
    """

    attributes: int = 400
    values: int = 1000
    templates: int = 1000
    per_event: int = 15
    predicates: int = 7
    equality: float = 0.3
    around: float = 0.1
    keep: float = 0.95
    width: int = 450
    shapes: int | None = None
    skew: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("attributes", "values", "templates", "per_event", "predicates", "width"):
            if getattr(self, name) < 1:
                raise DataError(f"workload: {name} must be at least 1, not {getattr(self, name)}")
        if self.attributes < self.per_event or self.per_event < self.predicates:
            raise DataError("workload: attributes ≥ per_event ≥ predicates must hold")

    def chance(self, stream: int, *parts: Int64Array) -> NDArray[np.float64]:
        """Uniform numbers in [0, 1) that depend on the seed, the stream and the parts alone."""
        state = np.full(1, self.seed * 1_000_003 + stream, np.int64)
        for part in parts:
            state = mixed(state, part)
        return state / 2.0**63

    def pick(self, count: int, stream: int, *parts: Int64Array) -> Int64Array:
        """Uniform integers below `count`."""
        return (self.chance(stream, *parts) * count).astype(np.int64)

    def attribute_sets(self, owners: Int64Array, size: int, stream: int) -> Int64Array:
        """int64[owners, size]: distinct attributes for each owner (a random start and stride)."""
        start = self.chance(stream, owners) ** (1 + self.skew) * self.attributes
        stride = 1 + self.pick(self.attributes // size, stream + 1, owners)
        return (start.astype(np.int64)[:, None] + stride[:, None] * np.arange(size)) % self.attributes

    def template_values(self, templates: Int64Array, attributes: Int64Array) -> Int64Array:
        """The value a template has for each of the attributes."""
        return self.pick(self.values, 3, templates[:, None], attributes)

    def events(self, ids: Int64Array) -> tuple[Int64Array, Int64Array]:
        """(attributes, values), both int64[ids, per_event]."""
        template = self.pick(self.templates, 4, ids)
        attributes = self.attribute_sets(template, self.per_event, 1)
        own = self.template_values(template, attributes)
        redrawn = self.pick(self.values, 6, ids[:, None], attributes)
        kept = self.chance(5, ids[:, None], attributes) < self.keep
        return attributes, np.where(kept, own, redrawn)

    def subscriptions(self, ids: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(attributes, low, high), all int64[ids, predicates]; low equals high for equalities."""
        size = self.predicates
        template = self.pick(self.templates, 7, ids)
        shape = self.pick(self.shapes, 8, ids) if self.shapes else ids
        template = shape % self.templates if self.shapes else template
        around = self.chance(9, ids) < self.around
        attributes = self.attribute_sets(template, self.per_event, 1)[:, :size]
        if not self.shapes:
            attributes = np.where(around[:, None], attributes, self.attribute_sets(ids, size, 10))
        free = self.pick(self.values, 12, ids[:, None], attributes)
        middle = np.where(around[:, None], self.template_values(template, attributes), free)
        width = 2 + self.pick(self.width, 13, ids[:, None], attributes)
        low = np.maximum(0, middle - (width * self.chance(14, ids[:, None], attributes)).astype(np.int64))
        high = np.maximum(np.minimum(low + width - 1, self.values - 1), low + 1)
        equal = self.chance(15, shape[:, None], np.arange(size)[None, :]) < self.equality
        return attributes, np.where(equal, middle, low), np.where(equal, middle, high)


def generate_events(spark: SparkSession, workload: Workload, count: int, partitions: int | None = None) -> DataFrame:
    """Columns `event_id` and `attributes` (a map): match with `EventColumns(spread=("attributes",))`."""

    def run(batches: Batches) -> Batches:
        names = pa.array([f"a{i}" for i in range(workload.attributes)])
        for batch in batches:
            ids = np.asarray(batch.column("id"))
            attributes, values = workload.events(ids)
            offsets = pa.array(np.arange(len(ids) + 1, dtype=np.int32) * workload.per_event)
            keys = names.take(pa.array(attributes.reshape(-1)))
            yield pa.record_batch(
                [batch.column("id"), pa.MapArray.from_arrays(offsets, keys, pa.array(values.reshape(-1)))],
                ["event_id", "attributes"],
            )

    return numbered(spark, count, partitions).mapInArrow(run, "event_id long, attributes map<string,long>")


def generate_subscriptions(
    spark: SparkSession, workload: Workload, count: int, partitions: int | None = None
) -> DataFrame:
    """Columns `id` and `filter` (text)."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            attributes, low, high = workload.subscriptions(np.asarray(batch.column("id")))
            yield pa.record_batch([batch.column("id"), filters(attributes, low, high)], ["id", "filter"])

    return numbered(spark, count, partitions).mapInArrow(run, "id long, filter string")


def generate_predicates(
    spark: SparkSession, workload: Workload, count: int, partitions: int | None = None
) -> DataFrame:
    """The same subscriptions as one row per predicate: `id`, `attribute`, `operator`, `integer`, `upper_integer`."""

    def run(batches: Batches) -> Batches:
        names = pa.array([f"a{i}" for i in range(workload.attributes)])
        for batch in batches:
            attributes, low, high = (
                part.reshape(-1) for part in workload.subscriptions(np.asarray(batch.column("id")))
            )
            equal = pa.array(low == high)
            ids = pa.array(np.repeat(np.asarray(batch.column("id")), workload.predicates))
            upper = pc.if_else(equal, pa.scalar(None, pa.int64()), pa.array(high))
            columns = [ids, names.take(pa.array(attributes)), pc.if_else(equal, "=", "between"), pa.array(low), upper]
            yield pa.record_batch(columns, ["id", "attribute", "operator", "integer", "upper_integer"])

    schema = "id long, attribute string, operator string, integer long, upper_integer long"
    return numbered(spark, count, partitions).mapInArrow(run, schema)


def filters(attributes: Int64Array, low: Int64Array, high: Int64Array) -> pa.Array:
    """Conditions as text, one per row of the arrays."""
    terms = []
    for a, lo, hi in zip(attributes.T, low.T, high.T, strict=True):
        name = pc.binary_join_element_wise("a", pc.cast(pa.array(a), pa.string()), "")
        lower, upper = (pc.cast(pa.array(np.ascontiguousarray(v)), pa.string()) for v in (lo, hi))
        equal = pc.binary_join_element_wise(name, " = ", lower, "")
        between = pc.binary_join_element_wise(name, " between ", lower, " and ", upper, "")
        terms.append(pc.if_else(pa.array(lo == hi), equal, between))
    return pc.binary_join_element_wise(*terms, " and ")


def numbered(spark: SparkSession, count: int, partitions: int | None) -> DataFrame:
    """Rows 0 to count - 1 in a column `id`."""
    return spark.range(0, count, 1, partitions) if partitions else spark.range(count)
