"""`static`: access predicates of several attributes, their tables chosen once by a cost model (Fabret et al., section 3).

Starting from single attributes, the table with the largest benefit per byte is added, again and again, until none pays or
`max_bytes` is reached. Conjunctions that come later go to the best table there is; the tables stay as they are.
What is known of events comes from `sample` (a batch of them) or `profile` (see `candidates/statistics.py`); with
neither, all constants of an attribute are taken as equally likely.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamis.candidates.access import Population, adopt, choose, gains
from tamis.candidates.clusters.placing import WIDEST, Choice
from tamis.candidates.costs import CELL_BYTES, ENTRY_BYTES, TABLE_BYTES, Costs, machine_costs
from tamis.candidates.statistics import AttributeProfile, presence, read_profile
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, from_pairs
from tamis.encoding.keys import Int32Array, number_keys
from tamis.encoding.subscriptions import IN, SubscriptionTable
from tamis.engines.base import Capabilities, Options
from tamis.engines.clustered import Clustered
from tamis.engines.twostage import check_index
from tamis.errors import EngineError

PLANNED = 100_000  # conjunctions looked at for choosing tables; of more, a random part
RUNS = 7  # of each timing; the best counts
CLOSER_LOOK = 8  # schemas whose space is counted, not estimated, in each step
SMOOTHING = 1.0  # events' worth of belief in the prior beside a sample


@dataclass(frozen=True, slots=True)
class StaticOptions(Options):
    """`max_bytes` bounds tables and clusters, `max_attributes` a table's schema; `costs` overrides the measured ones."""

    max_bytes: int = 1 << 30
    max_attributes: int = 3
    sample: EventBatch | None = None
    profile: Mapping[str, Any] | str | Path | None = None
    costs: Costs | None = None
    prefetch: bool = True
    index: str = "sorted"

    def __post_init__(self) -> None:
        check_index("static", self.index)
        if not 1 <= self.max_attributes <= WIDEST:
            raise EngineError(f"engine 'static': max_attributes={self.max_attributes} is not in 1..{WIDEST}")


@dataclass(frozen=True, slots=True)
class Plan:
    """Schemas (rows padded with -1), with the expected cost of an event in nanoseconds and the space in bytes."""

    schemas: list[Int32Array]
    cost: float
    space: float


class StaticEngine(Clustered):
    """Tables chosen when the first subscriptions arrive."""

    capabilities: ClassVar = Capabilities(
        "clusters under several attributes, tables chosen once by cost", "Fabret et al."
    )
    options_type: ClassVar = StaticOptions

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """Choose tables for these subscriptions and take them in."""
        assert isinstance(options, StaticOptions)
        engine = cls(subscriptions.dictionary, options.index, options.prefetch)
        engine.options, engine.plan = options, None
        engine.insert(subscriptions)
        return engine

    options: StaticOptions
    plan: Plan | None

    def prior(self, predicates: Int32Array) -> NDArray[np.float64]:
        """The chance of equality predicates by sample or profile."""
        p, chance = self.stage.registry.columns, super().prior(predicates)
        if self.options.sample is not None:
            seen = self.stage.frequencies(self.options.sample)[predicates]
            return (seen + SMOOTHING * chance) / (len(self.options.sample) + SMOOTHING)
        profile = self._profile() if self.options.profile is not None else {}
        for i, predicate in enumerate(predicates if profile else ()):
            known = profile.get(int(p.attr[predicate]))
            if known is not None:
                chance[i] = known.chance(int(p.lo[predicate]))
        return chance

    def choose(self, ids: Int32Array) -> Choice:
        """The cheapest access predicate under the tables chosen, which happens when the first conjunctions come."""
        x = self.population()
        if self.plan is None and len(ids):
            costs = self.options.costs or machine_costs(measure)
            limits = (self.options.max_bytes, self.options.max_attributes)
            self.plan = plan(x, ids, self._presence(), costs, *limits)
            for schema in self.plan.schemas:
                self.add_schema(schema)
        keys, table, chance, _ = choose(x, ids, self.schemas, self.arity)
        return Choice(keys, table, chance)

    def details(self) -> dict[str, Any]:
        """What the plan expects."""
        planned = {"planned cost ns": self.plan.cost, "planned bytes": self.plan.space} if self.plan else {}
        return {**super().details(), **planned}

    def _profile(self) -> dict[int, AttributeProfile]:
        assert self.options.profile is not None
        return read_profile(self.options.profile, self.stage.dictionary)

    def _presence(self) -> NDArray[np.float64]:
        attributes = len(self.stage.dictionary)
        if self.options.sample is not None:
            return presence(self.options.sample, attributes)
        shares = np.ones(attributes)
        for attribute, known in (self._profile() if self.options.profile is not None else {}).items():
            shares[attribute] = known.presence
        return shares


def measure() -> Costs:
    """K_r, K_h and K_c in nanoseconds, by matching with the engine's own kernel: the same events against conjunctions without
    tables, with tables they hit, with more tables they miss, and against more conjunctions. A conjunction has five predicates and
    is mostly decided by the first that is read: K_c is what one left to test adds on average."""
    few, many = calibration(1 << 14), calibration(1 << 17)
    hit = [(2 * j, 2 * j + 1) for j in range(16)]
    missed = [(32 + j % 16, 48 + j // 16) for j in range(64)]
    (base, base_checks), (more, more_checks) = seconds(few, []), seconds(many, [])
    (tables, table_checks), (more_tables, _) = seconds(many, hit), seconds(many, hit + missed)
    check = max((more - base) / max(1.0, more_checks - base_checks), 1e-11)
    retrieve = max((more_tables - tables) / len(missed), 1e-11)
    probes = tables - more + check * (more_checks - table_checks) - len(hit) * retrieve
    return Costs(retrieve * 1e9, max(probes / (2 * len(hit)), 1e-11) * 1e9, check * 1e9)


def calibration(conjunctions: int) -> tuple[SubscriptionTable, EventBatch]:
    """Conjunctions of two neighbouring attributes and three more; events have the first 32 of the 64 attributes."""
    random, dictionary = np.random.default_rng(0), Dictionary()
    for i in range(64):
        dictionary.attribute(f"a{i}")
    pair = random.integers(0, 16, conjunctions)
    attrs = ((2 * pair[:, None] + np.array([0, 1, 7, 12, 19])) % 32).astype(np.int32).ravel()
    keys, offsets = number_keys(random.integers(0, 64, len(attrs))), np.arange(conjunctions + 1, dtype=np.int64) * 5
    owners, ops = np.arange(conjunctions, dtype=np.int32), np.full(len(attrs), IN, np.uint8)
    table = SubscriptionTable(owners, offsets, attrs, ops, keys, keys.copy(), np.zeros(0, np.int64), dictionary)
    events, count = np.repeat(np.arange(500), 32), 500 * 32
    values = number_keys(random.integers(0, 64, count))
    return table, from_pairs(
        500, events, (np.arange(count) % 32).astype(np.int32), values, np.full(count, -1, np.int32)
    )


def seconds(world: tuple[SubscriptionTable, EventBatch], tables: list[tuple[int, int]]) -> tuple[float, float]:
    """Processor time and predicates left to test of one event, with the given tables; the best of several runs."""
    table, events = world
    engine = StaticEngine(table.dictionary, "sorted", True)
    engine.options, engine.plan = StaticOptions(), Plan([], 0.0, 0.0)
    for first, second in tables:
        engine.add_schema(np.array([first, second, *[-1] * (WIDEST - 2)], np.int32))
    engine.insert(table)
    best = float("inf")
    for _ in range(RUNS):
        start = process_time()
        engine.match(events)
        best = min(best, process_time() - start)
    left = engine.candidates / engine.events * (3.0 if tables else 4.0)  # of five predicates, two or one are fixed
    return best / len(events), left


def plan(
    x: Population, ids: Int32Array, present: NDArray[np.float64], costs: Costs, max_bytes: int, max_attributes: int
) -> Plan:
    """The greedy choice of tables for the given conjunctions (section 3.4)."""
    scale = 1.0
    if len(ids) > PLANNED:
        scale = len(ids) / PLANNED
        ids = np.random.default_rng(0).choice(ids, PLANNED, replace=False)
    keys, _, _, cost = choose(x, ids, np.full((1, WIDEST), -1, np.int32), np.zeros(1, np.int32))
    fixed = (keys[:, 0] >= 0).astype(np.int32)
    space = scale * CELL_BYTES * float((x.size[ids] - fixed).sum())
    chosen: list[Int32Array] = []
    overhead = 0.0
    while max_attributes > 1:
        schemas, gain, takers = gains(x, ids, cost, max_attributes, WIDEST, True)
        arity = (schemas >= 0).sum(axis=1)
        share = np.where(schemas >= 0, present[schemas], 1.0).prod(axis=1)
        price = costs.retrieve + share * costs.hash * arity
        benefit = scale * gain * costs.check - price
        bytes_more = TABLE_BYTES + scale * takers * (ENTRY_BYTES - CELL_BYTES * (arity - 1))
        rank = benefit / np.maximum(bytes_more, 1.0)
        extra: dict[int, float] = {}
        for i in np.argsort(-rank)[:CLOSER_LOOK].tolist():
            _, cells, entries = adopt(x, ids, cost, fixed, schemas[i], int(arity[i]), False)
            more = TABLE_BYTES + scale * (ENTRY_BYTES * entries - CELL_BYTES * cells)
            if benefit[i] > 0 and space + more <= max_bytes:
                extra[i] = more
        if not extra:
            break
        best = max(extra, key=lambda i: float(benefit[i]) / max(extra[i], 1.0))
        adopt(x, ids, cost, fixed, schemas[best], int(arity[best]), True)
        space += extra[best]
        overhead += float(price[best])
        chosen.append(schemas[best])
    return Plan(chosen, overhead + scale * costs.check * float(cost.sum()), space)
