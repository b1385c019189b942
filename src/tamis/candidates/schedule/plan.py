"""`Plan`: chains, their order and the rule of the walk, kept up to date as conjunctions come and go.

A chain that arrives alone is placed beside the chain it has most to gain from, a removed one is unlinked; the order is
computed anew only when as many chains arrive at once as there are, or when `refresh` brings better estimates.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.candidates.schedule.chains import Chains, FloatArray, node_rank, widened
from tamis.candidates.schedule.order import best_place, chain_order
from tamis.candidates.schedule.run import (
    COMPLETE,
    DONE,
    NAIVE,
    SEQUENTIAL,
    SUBORDER,
    UNSEEN,
    advance,
    count_evaluations,
    settle,
)
from tamis.encoding.keys import Int32Array, Int64Array
from tamis.errors import OperatorError, nearest

RULES = {"naive": NAIVE, "sequential": SEQUENTIAL, "suborder": SUBORDER, "popular": SUBORDER}
"""`popular` is `suborder` with the nodes of a chain ranked by how many chains they decide, not by selectivity alone."""


class Plan:
    """Which chain first, which predicate next. Selectivity and cost are indexed by predicate."""

    def __init__(self, rule: str = "suborder") -> None:
        if rule not in RULES:
            raise OperatorError(f"there is no schedule {rule!r}{nearest(rule, RULES)} (schedules: {', '.join(RULES)})")
        self.name, self.rule = rule, RULES[rule]
        self.chains = Chains()
        self.label: FloatArray = np.zeros(0)
        self.gap: FloatArray = np.zeros(0)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.chains.count))

    def insert(
        self,
        ids: Int32Array,
        offsets: Int64Array,
        preds: Int32Array,
        wanted: NDArray[np.int8],
        selectivity: FloatArray,
        cost: FloatArray,
    ) -> None:
        """Add chains ids[i], whose ids are free, with literals offsets[i]:offsets[i+1]."""
        before = len(self)
        self.chains.insert(ids, offsets, preds, wanted, self._rank(preds, wanted, selectivity, cost))
        room = len(self.chains.first)
        self.label, self.gap = widened(self.label, room, 0), widened(self.gap, room, 1)
        if self.rule != SUBORDER:
            self.label[ids], self.gap[ids] = ids, 1
        elif len(ids) >= before:
            self.reorder(selectivity, cost)
        else:
            for c in ids:
                self._place(int(c), selectivity, cost)

    def remove(self, ids: Int32Array) -> None:
        """Take chains out; the others keep their order."""
        self.chains.remove(ids)

    def reorder(self, selectivity: FloatArray, cost: FloatArray) -> None:
        """The whole order from the pairwise savings."""
        order = chain_order(self.chains.structure, self.chains.popularity, selectivity, cost)
        self.label[order], self.gap[order] = np.arange(len(order)), 1

    def refresh(self, selectivity: FloatArray, cost: FloatArray) -> None:
        """Chains and order from new estimates."""
        if self.rule == SUBORDER:
            ids = self.chains.ids()
            nodes = self.chains.nodes_of(ids)
            self.chains = Chains()
            self.chains.insert(ids, *nodes, self._rank(*nodes[1:], selectivity, cost))
            self.reorder(selectivity, cost)

    def order(self, ids: Int32Array | None = None) -> Int32Array:
        """The given chains (all by default) in the order to decide them."""
        ids = self.chains.ids() if ids is None else ids
        return ids[np.lexsort((ids, self.label[ids]))]

    def walk(self, ids: Int32Array, predicates: int) -> "Walk":
        """One event's walk over the given chains."""
        return Walk(self, self.order(ids), predicates)

    def tally(self, table: NDArray[np.int8]) -> tuple[Int64Array, NDArray[np.bool_]]:
        """Walk a truth table int8[events, predicates]: evaluated predicates per event, and matched[event, chain]."""
        evaluated = np.zeros(len(table), np.int64)
        matched = np.zeros((len(table), len(self.chains.first)), np.bool_)
        count_evaluations(self.rule, self.order(), *self.chains.structure, table, evaluated, matched)
        return evaluated, matched

    def _rank(
        self, preds: Int32Array, wanted: NDArray[np.int8], selectivity: FloatArray, cost: FloatArray
    ) -> FloatArray | None:
        if self.rule != SUBORDER:
            return None
        shares = np.ones(len(selectivity))
        if self.name == "popular":
            shares += np.bincount(preds, minlength=len(shares))
            known = self.chains.popularity[: len(shares)]
            shares[: len(known)] += known
        return node_rank(preds, wanted, selectivity, cost, shares)

    def _place(self, chain: int, selectivity: FloatArray, cost: FloatArray) -> None:
        beside, before = best_place(chain, *self.chains.structure, selectivity, cost)
        if beside < 0:
            self.label[chain], self.gap[chain] = self.label[self.chains.ids()].max() + 1, 1
        else:
            half = self.gap[beside] / 2
            self.label[chain] = self.label[beside] + (-half if before else half)
            self.gap[chain] = self.gap[beside] = half


class Walk:
    """The state of one event: what is known of the predicates, which chains are undecided, how far the walk is."""

    def __init__(self, plan: Plan, order: Int32Array, predicates: int) -> None:
        self.plan, self.order = plan, order
        self.structure = plan.chains.structure
        self.truth = np.full(predicates, UNSEEN, np.int8)
        self.undecided = np.zeros(len(plan.chains.first), np.bool_)
        self.undecided[order] = True
        self.cursor = np.zeros(3, np.int64)

    def next(self) -> tuple[int, int]:
        """(predicate to evaluate, -1), (-1, chain whose literals all hold), or (-1, -1) when every chain is decided."""
        step = advance(self.plan.rule, self.order, *self.structure, self.truth, self.undecided, self.cursor)
        return (step, -1) if step >= 0 else (-1, -1) if step == DONE else (-1, COMPLETE - step)

    def settle(self, predicate: int, outcome: int) -> None:
        """Record a predicate's truth (FALSE, TRUE or UNKNOWN)."""
        _, _, _, wanted, links, head, chain_of = self.structure
        settle(self.plan.rule, predicate, outcome, wanted, links, head, chain_of, self.truth, self.undecided)

    def drop(self, chain: int) -> None:
        """Nobody waits for this chain any more."""
        self.undecided[chain] = False
