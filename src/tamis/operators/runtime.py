"""Running operators: one request is (event, predicate); what comes back is an Answer, whatever the operator does.

Requests arrive in rounds, many events at once, so that a batch operator sees them together and async ones overlap. What a
predicate cost and whether it held feeds the estimates; what failed is counted and kept for the subscriptions' status.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.errors import OperatorError
from tamis.model.event import Event
from tamis.model.predicate import OperatorPredicate
from tamis.operators.answer import Answer, input_arguments, interpret
from tamis.operators.breaker import Breaker
from tamis.operators.estimates import Estimates
from tamis.operators.event import Absent, EventView
from tamis.operators.isolate import Isolated
from tamis.operators.registry import Operator, Registry
from tamis.operators.worker import describe

if TYPE_CHECKING:  # loaded by who needs it: few matchers have async operators
    import asyncio


@dataclass(frozen=True, slots=True)
class Failure:
    """How often a predicate could not be evaluated, and why the last time."""

    count: int
    last: str


class Runtime:
    """Predicates by dense id, and everything needed to evaluate them."""

    def __init__(self, registry: Registry, breaker: Callable[[], Breaker] = Breaker) -> None:
        self.registry = registry
        self.predicates: list[OperatorPredicate] = []
        self.operators: list[Operator] = []
        self.ids: dict[OperatorPredicate, int] = {}
        self.estimates = Estimates()
        self.failures: dict[int, Failure] = {}
        self.breakers: defaultdict[str, Breaker] = defaultdict(breaker)
        self.evaluations = self.failed = 0
        self._free: list[int] = []
        self._isolated: dict[str, Isolated] = {}
        self._loop = AsyncLoop()

    def admit(self, predicate: OperatorPredicate) -> int:
        """The id of a canonical predicate, made when new."""
        found = self.ids.get(predicate)
        if found is None:
            operator = self.registry.get(predicate.name)
            if self._free:
                found = self._free.pop()
                self.predicates[found], self.operators[found] = predicate, operator
            else:
                found = len(self.predicates)
                self.predicates.append(predicate)
                self.operators.append(operator)
            self.ids[predicate] = found
            self.estimates.admit(found, operator.selectivity, operator.cost)
        return found

    def release(self, p: int) -> None:
        """Nobody uses this predicate any more; its id may be used again."""
        del self.ids[self.predicates[p]]
        self.failures.pop(p, None)
        self._free.append(p)

    def round(self, requests: Sequence[tuple[Event, int]]) -> list[Answer]:
        """Evaluate every request; answers in the same order."""
        answers: list[Answer | None] = [None] * len(requests)
        batches: defaultdict[int, list[int]] = defaultdict(list)
        awaiting: list[int] = []
        for i, (event, p) in enumerate(requests):
            operator = self.operators[p]
            if not self.breakers[operator.name].allows():
                problem = "not called: it failed repeatedly and is left alone for a while"
                answers[i] = self._note(p, Answer(None, problem=problem), None)
            elif operator.style == "batch":
                batches[p].append(i)
            elif operator.style == "async":
                awaiting.append(i)
            else:
                answers[i] = self._timed(p, lambda event=event, p=p: self._single(event, p))  # type: ignore[misc]
        for p, members in batches.items():
            found = self._batch(p, [requests[i][0] for i in members])
            for i, answer in zip(members, found, strict=True):
                answers[i] = answer
        for i, answer in zip(awaiting, self._concurrently([requests[i] for i in awaiting]), strict=True):
            answers[i] = answer
        return [answer for answer in answers if answer is not None]

    def close(self) -> None:
        """End worker processes and the async loop; both start again if needed."""
        for isolated in self._isolated.values():
            isolated.close()
        self._isolated.clear()
        self._loop.close()

    def _single(self, event: Event, p: int) -> Answer:
        operator, predicate = self.operators[p], self.predicates[p]
        if operator.isolate:
            if operator.name not in self._isolated:
                self._isolated[operator.name] = Isolated(operator)
            return self._isolated[operator.name].evaluate(event, predicate)
        given = input_arguments(operator, predicate)
        return guarded(lambda: interpret(operator, predicate, operator.function(EventView(event), *given)))

    def _batch(self, p: int, events: list[Event]) -> list[Answer]:
        operator, predicate = self.operators[p], self.predicates[p]
        given = input_arguments(operator, predicate)
        start = time.perf_counter()
        try:
            returned = list(operator.function([EventView(event) for event in events], *given))
            if len(returned) != len(events):
                raise OperatorError(f"it gave {len(returned)} answers for {len(events)} events")
        except (Exception, SystemExit) as problem:
            if len(events) == 1:
                absent = isinstance(problem, Absent)
                seconds = time.perf_counter() - start
                return [self._note(p, Answer(None, problem="" if absent else describe(problem)), seconds)]
            return [answer for event in events for answer in self._batch(p, [event])]  # one bad event spoils no other
        seconds = (time.perf_counter() - start) / len(events)
        return [
            self._note(p, guarded(lambda one=one: interpret(operator, predicate, one)), seconds)  # type: ignore[misc]
            for one in returned
        ]

    def _concurrently(self, requests: list[tuple[Event, int]]) -> list[Answer]:
        if not requests:
            return []
        import asyncio

        async def one(event: Event, p: int) -> tuple[Answer, float]:
            operator, predicate = self.operators[p], self.predicates[p]
            given = input_arguments(operator, predicate)
            start = time.perf_counter()
            try:
                returned = await asyncio.wait_for(operator.function(EventView(event), *given), operator.seconds)
                answer = guarded(lambda: interpret(operator, predicate, returned))
            except Absent:
                answer = Answer(None)
            except TimeoutError:
                answer = Answer(None, problem=f"it took longer than seconds = {operator.seconds:g} and was ended")
            except (Exception, SystemExit) as problem:
                answer = Answer(None, problem=describe(problem))
            return answer, time.perf_counter() - start

        async def everything() -> list[tuple[Answer, float]]:
            return await asyncio.gather(*(one(event, p) for event, p in requests))

        longest = max(self.operators[p].seconds for _, p in requests)
        try:
            found = self._loop.run(everything, longest + 0.5)
        except TimeoutError:  # a coroutine that blocks its loop stops all that share it; the loop is given up
            blocked = Answer(None, problem="an async operator of this round blocked the event loop")
            found = [(blocked, longest)] * len(requests)
        return [self._note(p, answer, s) for (answer, s), (_, p) in zip(found, requests, strict=True)]

    def _timed(self, p: int, evaluate: Callable[[], Answer]) -> Answer:
        start = time.perf_counter()
        answer = evaluate()
        return self._note(p, answer, time.perf_counter() - start)

    def _note(self, p: int, answer: Answer, seconds: float | None) -> Answer:
        if seconds is not None:
            self.evaluations += 1
            self.estimates.observe(p, answer.truth, seconds)
            breaker = self.breakers[self.operators[p].name]
            if answer.problem:
                breaker.failed()
            else:
                breaker.succeeded()
        if answer.problem:
            self.failed += 1
            before = self.failures.get(p)
            self.failures[p] = Failure(1 + (before.count if before else 0), answer.problem)
        return answer


def guarded(evaluate: Callable[[], Answer]) -> Answer:
    """The answer, or an unknown that says what was raised."""
    try:
        return evaluate()
    except Absent:
        return Answer(None)
    except (Exception, SystemExit) as problem:
        return Answer(None, problem=describe(problem))


class AsyncLoop:
    """An event loop in a thread of its own, started when first used; one that hangs is left behind."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, make: Callable[[], Any], seconds: float) -> Any:
        """The result of a coroutine, or TimeoutError."""
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="tamis-operators", daemon=True)
            self._thread.start()
        future: Future[Any] = asyncio.run_coroutine_threadsafe(make(), self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            self._loop = self._thread = None
            raise

    def close(self) -> None:
        """Stop the loop and its thread."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        self._loop = self._thread = None
