"""The second half of matching where conditions need operators: the engine's survivors in, matches out.

The engine decides the cheap part of every conjunction. A conjunction with operators has a dense id of its own there (a
*task*), so what the engine finds says which tasks survive; the operators decide them. Events go through together, in
rounds: each walks its plan until it needs a predicate, the round's predicates are evaluated, and on they go. A predicate is
evaluated at most once per event, and never when no undecided subscription needs it.

Operators may take long, so nobody who subscribes waits for them: `add` and `remove` only note what changed (their callers
take turns), and `decide` takes the notes up before it begins. Calls of `decide` take turns among themselves.
"""

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.candidates.schedule.plan import Plan, Walk
from tamis.candidates.schedule.run import ANY, FALSE, TRUE, UNKNOWN
from tamis.encoding.keys import Int32Array
from tamis.encoding.matches import MatchSet
from tamis.model.event import Event
from tamis.model.predicate import Constraint, OperatorPredicate
from tamis.model.subscription import Conjunction
from tamis.model.values import Scalar
from tamis.operators.answer import Answer
from tamis.operators.bindings import Relation, Signed, TooManyBindings, sieve, substitution
from tamis.operators.identity import canonical, named, shown
from tamis.operators.registry import OPERATORS, Registry
from tamis.operators.runtime import Failure, Runtime

ROUND_BYTES = 64 << 20
FIRST_REFRESH, LAST_REFRESH = 64, 65536  # evaluations after which the plan is made anew from what was learned


@dataclass(frozen=True, slots=True)
class Use:
    """One operator literal of a conjunction: predicate id, the names its variables have here, negated or not."""

    predicate: int
    names: tuple[str, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Task:
    """The operators and constraints of one conjunction."""

    owner: int
    uses: tuple[Use, ...]
    constraints: tuple[Signed, ...]


class OperatorStage:
    """Tasks by dense id, the plan over them, and the runtime that evaluates."""

    def __init__(self, schedule: str = "suborder", registry: Registry = OPERATORS, bindings: int = 10_000) -> None:
        self.plan = Plan(schedule)
        self.runtime = Runtime(registry)
        self.bindings = bindings
        self.owned: dict[int, list[int]] = {}  # owner → tasks, as those who subscribe see it
        self.tasks: dict[int, Task] = {}  # this and all below: as `decide` sees it
        self.by_owner: defaultdict[int, set[int]] = defaultdict(set)
        self.sieves: defaultdict[int, dict[int, tuple[tuple[str, ...], list[Signed]]]] = defaultdict(dict)
        self.task_ids = np.zeros(0, np.int32)
        self.failures: dict[int, Failure] = {}
        self.joins_failed = 0
        self._notes: deque[tuple[list[int], int, Conjunction | None]] = (
            deque()
        )  # tasks, owner, what they are (None: gone)
        self._turn = threading.Lock()
        self._users: Counter[int] = Counter()
        self._fresh: dict[int, dict[int, int]] = {}
        self._refresh_at = FIRST_REFRESH

    def __len__(self) -> int:
        """Subscriptions with operators."""
        return len(self.owned)

    @property
    def failed(self) -> int:
        """Evaluations and joins that failed since the stage was made."""
        return self.runtime.failed + self.joins_failed

    def add(self, task: int, owner: int, term: Conjunction) -> None:
        """The operators of a conjunction whose cheap part the engine knows under the dense id `task`."""
        self.owned.setdefault(owner, []).append(task)
        self._notes.append(([task], owner, term))

    def remove(self, owner: int) -> list[int]:
        """Forget a subscription's tasks; returns their dense ids."""
        gone = sorted(self.owned.pop(owner, ()))
        if gone:
            self._notes.append((gone, owner, None))
        return gone

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Alone with tasks, plan and runtime, all changes so far taken up."""
        with self._turn:
            self._take_up()
            yield

    def decide(self, events: Sequence[Event], found: MatchSet) -> MatchSet:
        """What the engine found, with surviving tasks replaced by the subscriptions whose operators hold.

        Of `events` only those are looked at for which an operator is needed.
        """
        if not self.owned and not self.tasks:
            return found
        with self.turn():
            self.task_ids = np.fromiter(self.tasks, np.int32, len(self.tasks))
            size = max(1, ROUND_BYTES // (len(self.plan.chains.first) + len(self.runtime.predicates) + 1))
            parts = [
                self._decide(events, found, range(start, min(len(events), start + size)))
                for start in range(0, len(events), size)
            ]
            self._learn()
            return MatchSet.concat(parts)

    def _take_up(self) -> None:
        while self._notes:
            tasks, owner, term = self._notes.popleft()
            if term is None:
                self._forget(tasks, owner)
            else:
                self._admit(tasks[0], owner, term)
        self._link()

    def _admit(self, task: int, owner: int, term: Conjunction) -> None:
        built = make_task(owner, term, self.runtime)
        wanted: dict[int, int] = {}
        for use in built.uses:
            wish = TRUE if not use.negated else ANY if use.names else FALSE
            wanted[use.predicate] = wish if wish == TRUE else wanted.get(use.predicate, wish)
        self.tasks[task] = built
        for use in built.uses:
            own = [signed for signed in built.constraints if signed[0].variables <= set(use.names)]
            if own and not use.negated:
                self.sieves[use.predicate][task] = (use.names, own)
        self.by_owner[owner].add(task)
        self._users.update(wanted.keys())
        self._fresh[task] = wanted

    def _forget(self, gone: list[int], owner: int) -> None:
        self.by_owner.pop(owner, None)
        linked = [t for t in gone if self._fresh.pop(t, None) is None]
        if linked:
            self.plan.remove(np.array(linked, np.int32))
        self.failures.pop(owner, None)
        for task in gone:
            for p in {use.predicate for use in self.tasks.pop(task).uses}:
                self.sieves[p].pop(task, None)
                self._users[p] -= 1
                if not self._users[p]:
                    del self._users[p], self.sieves[p]
                    self.runtime.release(p)

    def _decide(self, events: Sequence[Event], found: MatchSet, chunk: range) -> MatchSet:
        runs = [Run(self, events, e, found.of(e)) for e in chunk]
        active = [run for run in runs if run.walk is not None]
        while active:
            waiting = [(run, p) for run in active if (p := run.proceed()) is not None]
            answers = self.runtime.round([(run.event, p) for run, p in waiting])
            for (run, p), answer in zip(waiting, answers, strict=True):
                run.learn(p, answer)
            active = [run for run, _ in waiting]
        counts = [len(run.matched) for run in runs]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return MatchSet(offsets, np.array([i for run in runs for i in run.matched], np.int32))

    def status(self, owner: int) -> dict[str, Failure]:
        """What failed for a subscription, by predicate; waits for nobody."""
        found = {}
        tasks = [task for number in self.owned.get(owner, ()) if (task := self.tasks.get(number))]
        for use in (use for task in tasks for use in task.uses):
            if failure := self.runtime.failures.get(use.predicate):
                found[shown(named(self.runtime.predicates[use.predicate], use.names))] = failure
        if failure := self.failures.get(owner):
            found["joining the bindings"] = failure
        return found

    def stats(self) -> dict[str, Any]:
        """Sizes, the schedule, evaluations so far and the state of each operator's breaker; waits for nobody."""
        if self._turn.acquire(blocking=False):
            try:
                self._take_up()
            finally:
                self._turn.release()
        runtime = self.runtime
        return {
            "schedule": self.plan.name,
            "conjunctions": len(self.tasks),
            "predicates": len(runtime.ids),
            "evaluations": runtime.evaluations,
            "failures": self.failed,
            "breakers": {name: breaker.state for name, breaker in list(runtime.breakers.items())},
        }

    def close(self) -> None:
        """End worker processes."""
        with self._turn:
            self.runtime.close()

    def _link(self) -> None:
        if not self._fresh:
            return
        ids = np.array(list(self._fresh), np.int32)
        offsets = np.concatenate([[0], np.cumsum([len(w) for w in self._fresh.values()])]).astype(np.int64)
        flat = [literal for wanted in self._fresh.values() for literal in wanted.items()]
        preds, wanted = np.array([p for p, _ in flat], np.int32), np.array([w for _, w in flat], np.int8)
        self._fresh = {}
        self.plan.insert(ids, offsets, preds, wanted, *self.runtime.estimates.arrays())

    def _learn(self) -> None:
        if self.runtime.evaluations >= self._refresh_at:
            self._refresh_at = self.runtime.evaluations + min(3 * self._refresh_at, LAST_REFRESH)
            self.plan.refresh(*self.runtime.estimates.arrays())


class Run:
    """One event on its way through the operators."""

    def __init__(self, stage: OperatorStage, events: Sequence[Event], number: int, found: Int32Array) -> None:
        self.stage = stage
        self.answers: dict[int, Answer] = {}
        is_task = np.isin(found, stage.task_ids, assume_unique=True)
        self.matched: list[int] = found[~is_task].tolist()
        sure = set(self.matched)
        survivors = [i for i in found[is_task].tolist() if stage.tasks[i].owner not in sure]
        self.walk: Walk | None = None
        if survivors:
            self.event = events[number]
            self.walk = stage.plan.walk(np.array(survivors, np.int32), len(stage.runtime.predicates))

    def proceed(self) -> int | None:
        """The next predicate this event needs, or None when everything is decided."""
        assert self.walk is not None
        while True:
            predicate, task = self.walk.next()
            if predicate >= 0:
                return predicate
            if task < 0:
                return None
            if self._joins(self.stage.tasks[task]):
                owner = self.stage.tasks[task].owner
                self.matched.append(owner)
                for sibling in self.stage.by_owner[owner]:
                    self.walk.drop(sibling)

    def learn(self, predicate: int, answer: Answer) -> None:
        """Take in what a predicate came to; a task whose constraints no row of it satisfies is decided."""
        assert self.walk is not None
        self.answers[predicate] = answer
        self.walk.settle(predicate, UNKNOWN if answer.truth is None else int(answer.truth))
        if answer.truth:
            for task, (names, own) in self.stage.sieves[predicate].items():
                if self.walk.undecided[task] and not sieve(Relation(names, answer.rows), own)[0].rows:
                    self.walk.drop(task)

    def _joins(self, task: Task) -> bool:
        try:
            return joint_substitution(task, self.answers, self.stage.bindings) is not None
        except TooManyBindings as problem:
            before = self.stage.failures.get(task.owner)
            self.stage.failures[task.owner] = Failure(1 + (before.count if before else 0), str(problem))
            self.stage.joins_failed += 1
            return False


def make_task(owner: int, term: Conjunction, runtime: Runtime) -> Task:
    """A conjunction's operators with their predicates admitted to the runtime, and its constraints."""
    uses, constraints = [], []
    for literal in term:
        if isinstance(literal.atom, Constraint):
            constraints.append((literal.atom, literal.negated))
        elif isinstance(literal.atom, OperatorPredicate):
            same = canonical(literal.atom)
            uses.append(Use(runtime.admit(same.predicate), same.names, literal.negated))
    return Task(owner, tuple(uses), tuple(constraints))


def joint_substitution(task: Task, answers: dict[int, Answer], limit: int) -> dict[str, Scalar] | None:
    """One substitution that satisfies all of a task, every predicate of which has been answered."""
    if any(answers[use.predicate].truth is use.negated for use in task.uses if not use.names):
        return None
    relations = [Relation(use.names, answers[use.predicate].rows, use.negated) for use in task.uses if use.names]
    return substitution(relations, task.constraints, limit)
