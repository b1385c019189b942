"""`Matcher`: the whole of matching in one object. Text in, ids out.

    >>> matcher = Matcher()
    >>> matcher.subscribe("alice", "item = 'camera' and price < 300")
    >>> matcher.match({"item": "camera", "price": 199})
    ['alice']

Changes are collected and reach the engine with the next match, so many subscriptions cost one insert. A Matcher may be
used by several threads: writers and the hand-over to the engine hold one lock; a concurrent engine matches without it, and
operators always run without it.

With `engine="auto"` the first match chooses the engine, by the subscriptions there are and by the `sample` given; `choice`
says which and why (`matcher/advice.py`).

Conjunctions with operators have dense ids of their own in the engine, which decides their cheap part; the operator stage
turns those that survive into matches (`engines/operators.py`). `schedule` says who is asked first there.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as with_changes
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch, encode_events
from tamis.encoding.matches import MatchSet
from tamis.encoding.single import Uncommon, plain_batch, single_pairs
from tamis.encoding.subscriptions import SubscriptionTable, TableBuilder
from tamis.engines.base import EngineStats, Quick, Saveable, Updatable, make_options
from tamis.engines.operators import OperatorStage
from tamis.engines.rebuild import updatable
from tamis.engines.registry import DEFAULT, engine_class
from tamis.errors import OperatorError, SubscriptionError, TamisError
from tamis.lang import bind, normalise, show
from tamis.lang.filters import Filter, expression_of
from tamis.lang.shapes import ShapeCache
from tamis.matcher.advice import Choice, Sample
from tamis.matcher.auto import AUTO, decide, given_sample
from tamis.matcher.dense import FreeIds, Names
from tamis.matcher.explanation import Explanation, explain
from tamis.matcher.witness import explain_with_operators
from tamis.model.event import Event
from tamis.model.event import normalise as normalise_event
from tamis.model.limits import Limits
from tamis.model.schema import PublicationType
from tamis.model.subscription import Dnf, Expression, SubscriptionId
from tamis.operators.check import check_operators, needs_operators
from tamis.operators.registry import OPERATORS, Registry
from tamis.operators.runtime import Failure
from tamis.predicates.text import TextIndex

OnError = Callable[[int, SubscriptionId, TamisError], None]
CHUNK = 50_000


class Matcher:
    """Standing conditions by id, and which of them an event satisfies."""

    def __init__(
        self,
        engine: str = DEFAULT,
        *,
        type: PublicationType | None = None,
        limits: Limits = Limits(),
        schedule: str = "suborder",
        registry: Registry = OPERATORS,
        **options: Any,
    ) -> None:
        self.choice: Choice | None = None
        self._sample = given_sample(options) if engine == AUTO else None
        if self._sample is not None:  # until there is something to choose by
            engine, options = DEFAULT, {}
        self.engine_name, self.type, self.limits, self.options = engine, type, limits, options
        self._kind = engine_class(engine)
        self._options = make_options(self._kind.options_type, engine, options)
        self._plain, self._most = self._most_pairs()
        self._dictionary = Dictionary(type=type)
        self._text = TextIndex(self._dictionary, self._options.text_structure)
        self._shapes = ShapeCache(type, limits)
        self._engine: Updatable | None = None
        self._lock, self._saving = threading.RLock(), threading.Lock()
        self._ids = Names()
        self._filters: list[str] = []
        self._dense: dict[SubscriptionId, int] = {}
        self._free = FreeIds()
        self._builder = TableBuilder(self._dictionary)
        self._added: list[SubscriptionTable] = []
        self._removed: list[int] = []
        self._stage = OperatorStage(schedule, registry, limits.bindings)

    def __len__(self) -> int:
        return len(self._dense)

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._dense

    def __iter__(self) -> Iterator[SubscriptionId]:
        return iter(list(self._dense))

    def filter(self, identifier: SubscriptionId) -> str:
        """The condition of a subscription, as text."""
        return self._filters[self._known(identifier)]

    def subscribe(self, identifier: SubscriptionId, filter: Filter) -> None:
        """Register a condition under an id that is not in use."""
        text, dnf = self._read(filter)
        with self._lock:
            self._check_new(identifier)
            dense = self._allocate(identifier, text)
            self._dense[identifier] = dense
            tasks = operator_terms(dnf)
            self._builder.add(dense, dnf if not tasks else tuple(term for term in dnf if term not in tasks))
            for term in tasks:
                task = self._allocate(None, "")
                self._builder.add(task, (term,))
                self._stage.add(task, dense, term)
            if len(self._builder.owners) >= CHUNK:
                self._close_chunk()

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, Filter]], on_error: OnError | None = None) -> int:
        """Register many; returns how many were added. A bad one goes to `on_error(position, id, error)` and the rest goes
        on; without `on_error` it is raised, and those before it stay."""
        added = 0
        for position, (identifier, filter) in enumerate(pairs):
            try:
                self.subscribe(identifier, filter)
                added += 1
            except TamisError as problem:
                if on_error is None:
                    raise
                on_error(position, identifier, problem)
        return added

    def replace(self, identifier: SubscriptionId, filter: Filter) -> None:
        """Give a known id another condition; on an error the old one stays."""
        self._read(filter)
        with self._lock:
            self.unsubscribe(identifier)
            self.subscribe(identifier, filter)

    def unsubscribe(self, identifier: SubscriptionId) -> None:
        """Forget a subscription."""
        with self._lock:
            dense = self._known(identifier)
            self._hand_over()
            del self._dense[identifier]
            self._ids[dense], self._filters[dense] = None, ""
            gone = [dense, *self._stage.remove(dense)]
            self._removed += gone
            self._free.release(gone)

    def match(self, event: Mapping[str, Any]) -> list[SubscriptionId]:
        """Ids of the subscriptions the event satisfies, in no particular order."""
        found = self._match_quickly(event)
        return self.match_many([event])[0] if found is None else found

    def match_many(self, events: Sequence[Mapping[str, Any]]) -> list[list[SubscriptionId]]:
        """The same for several events at once, which is faster per event."""
        given = list(events)
        found = self._match_plainly(given)
        if found is None:
            return self.match_events([normalise_event(event, self.type, self.limits) for event in given])
        return found

    def match_events(self, normal: list[Event]) -> list[list[SubscriptionId]]:
        """The same for events that `model.event.normalise` has made and checked already."""
        with self._reading() as reader:
            found = self._stage.decide(normal, reader(lambda: self._encode(normal)))
            with self._lock:
                return self._named(found)

    def match_batch(self, batch: EventBatch, events: Sequence[Event] | None = None) -> MatchSet:
        """The columnar way: an encoded batch in, dense ids out (`ids_of` names them).

        Where subscriptions use operators, `events` must hold the whole events; only those an operator needs are looked at.
        """
        if len(self._stage) and events is None:
            raise OperatorError("some subscriptions use operators, which need whole events: pass them as `events`")
        with self._reading() as reader:
            found = reader(lambda: self._text.extend(batch))
            return found if events is None else self._stage.decide(events, found)

    def ids_of(self, dense: Iterable[int]) -> list[SubscriptionId | None]:
        """User ids of dense ids."""
        return [self._ids[i] for i in dense]

    def explain(self, identifier: SubscriptionId, event: Mapping[str, Any]) -> Explanation:
        """Predicate by predicate, why the subscription does or does not match the event."""
        expression = self._expression(self.filter(identifier))
        normal = normalise_event(event, self.type, self.limits)
        dnf = normalise(expression, self.type, self.limits)
        if not operator_terms(dnf):
            return explain(identifier, expression, normal)
        with self._stage.turn():
            return explain_with_operators(identifier, expression, dnf, normal, self._stage)

    def status(self, identifier: SubscriptionId) -> dict[str, Failure]:
        """What could not be evaluated for a subscription so far: operator predicate → how often, and why the last time."""
        with self._lock:
            return self._stage.status(self._known(identifier))

    @property
    def operator_failures(self) -> int:
        """How often an operator could not be evaluated, or answers not be joined, since the matcher was made; never falls."""
        return self._stage.failed

    def stats(self) -> EngineStats:
        """Sizes and counters of the engine, and of the operators where there are any."""
        with self._lock:
            stats = self._hand_over().stats()
            if self.choice is not None:
                stats = with_changes(stats, details={**stats.details, "choice": self.choice.reason})
            if not len(self._stage):
                return stats
            details = {**stats.details, "operators": self._stage.stats()}
            return with_changes(stats, subscriptions=len(self), details=details)

    def close(self) -> None:
        """End the worker processes of isolated operators; matching again starts them again."""
        self._stage.close()

    def save(self, path: str | Path) -> None:
        """Write all subscriptions to a directory that `load` reads, replacing what stood there in one step.

        It is written as it was at the beginning, while others go on.
        """
        from tamis.matcher.storage import save

        def take(index: Path) -> tuple[list[tuple[int, SubscriptionId, str]], bool]:
            with self._lock:  # ids and index must be of one moment
                engine = self._hand_over()
                ids, filters = self._ids.all(), list(self._filters)
                write = engine.frozen() if isinstance(engine, Saveable) and not len(self._stage) else None
            if write is not None:
                write(index)
            rows = [(d, i, f) for d, (i, f) in enumerate(zip(ids, filters, strict=True)) if i is not None]
            return rows, write is not None

        with self._saving:
            save(Path(path), take, self.engine_name, self.options, self.type, self._stage.plan.name)

    @classmethod
    def load(
        cls,
        path: str | Path,
        engine: str | None = None,
        registry: Registry = OPERATORS,
        limits: Limits = Limits(),
    ) -> "Matcher":
        """A matcher from a directory written by `save`, with the same engine and options unless another is named; `limits`
        hold for what comes, and for what is parsed again."""
        from tamis.matcher.storage import load

        saved = load(Path(path))
        options = saved.options if engine in (None, saved.engine) else {}
        matcher = cls(
            engine or saved.engine,
            type=saved.type,
            limits=limits,
            schedule=saved.schedule,
            registry=registry,
            **options,
        )
        if saved.index is not None and engine in (None, saved.engine):
            kind = cast(type[Saveable], matcher._kind)
            matcher._adopt(kind.open(saved.index, matcher._options), saved.pairs, saved.dense)
        else:
            matcher.subscribe_many(saved.pairs)
        return matcher

    def _match_quickly(self, event: Mapping[str, Any]) -> list[SubscriptionId] | None:
        """Ids for a plain event where engine and subscriptions allow the short way, else None."""
        if self._most < 0 or event.__class__ is not dict or len(event) > self._most:
            return None
        with self._lock:
            engine = self._engine
            if engine is None or self._builder.owners or self._added or self._removed or self._stage.owned:
                return None
            pairs = single_pairs(event, self._dictionary, self._text.pairs)
            if pairs is None:
                return None
            day, words, reader = self._free.day, self._dictionary.words, self._free.enter()
        try:
            found = cast(Quick, engine).match_single(pairs)
            if found is None or self._dictionary.words != words:  # a new condition may name what was left out
                return None
            with self._lock:
                if self._free.day == day:
                    return self._ids.of_owned(found)
                names = self._ids.of(found)
        finally:
            self._free.leave(reader)
        return [name for name in names if name is not None]

    def _match_plainly(self, events: list[Mapping[str, Any]]) -> list[list[SubscriptionId]] | None:
        """Ids for plain events, or None where one of them or the subscriptions want the long way."""
        if self._stage.owned or any(event.__class__ is not dict or len(event) > self._plain for event in events):
            return None
        plain = cast(list[dict[str, Any]], events)
        try:
            with self._reading() as reader:
                found = reader(lambda: plain_batch(plain, self._dictionary, self._text.pairs))
                with self._lock:
                    return self._named(found)
        except Uncommon:
            return None

    def _most_pairs(self) -> tuple[int, int]:
        """The most attributes of an event that may go the short way in a batch, and by itself; -1 when none may."""
        limits = self.limits
        plain = min(limits.event_attributes, limits.event_values) if self.type is None and limits.event_depth else -1
        quick = issubclass(self._kind, Quick) and self._kind.capabilities.concurrent
        return plain, plain if quick else -1

    def _adopt(self, engine: Saveable, pairs: list[tuple[SubscriptionId, str]], dense: list[int]) -> None:
        """Take over an engine that knows these subscriptions already."""
        self._engine, self._dictionary = engine, engine.dictionary
        self._text = TextIndex(self._dictionary, self._options.text_structure)
        self._builder = TableBuilder(self._dictionary)
        size = max(dense, default=-1) + 1
        self._ids, self._filters = Names(size), [""] * size
        for at, (identifier, text) in zip(dense, pairs, strict=True):
            self._ids[at], self._filters[at] = identifier, text
            self._dense[identifier] = at
        self._free.release([at for at, identifier in enumerate(self._ids.all()) if identifier is None])

    def _read(self, filter: Filter) -> tuple[str, Dnf]:
        """A condition as text and in normal form, its operators checked."""
        if isinstance(filter, str):
            text, dnf = filter, self._shapes.normalise(filter)
        else:
            expression = self._expression(filter)
            text, dnf = show(expression), normalise(expression, self.type, self.limits)
        check_operators(dnf, self._stage.runtime.registry)
        return text, dnf

    def _expression(self, filter: Filter) -> Expression:
        expression = expression_of(filter, self.limits)
        return bind(expression, self.type, self.limits) if self.type else expression

    @contextmanager
    def _reading(self) -> Iterator[Callable[[Callable[[], EventBatch]], MatchSet]]:
        """While a match runs, no id it may return is given to somebody else. Yields what asks the engine."""
        with self._lock:
            ticket = self._free.enter()
        try:
            yield self._find
        finally:
            self._free.leave(ticket)

    def _find(self, encode: Callable[[], EventBatch]) -> MatchSet:
        """What the engine finds, without the lock if the engine can do so."""
        with self._lock:
            engine, batch, words = self._hand_over(), encode(), self._dictionary.words
            if not self._kind.capabilities.concurrent:
                return engine.match(batch)
        found = engine.match(batch)
        if self._dictionary.words == words:
            return found
        with self._lock:  # a condition that came meanwhile may name what the batch left out
            return self._hand_over().match(encode())

    def _named(self, found: MatchSet) -> list[list[SubscriptionId]]:
        """Ids by event, without those that were forgotten while the event was matched; the caller holds the lock."""
        names = self._ids.of(found.ids)
        rows = [names[a:b] for a, b in pairwise(found.offsets.tolist())]
        if None in names:
            return [[name for name in row if name is not None] for row in rows]
        return cast(list[list[SubscriptionId]], rows)

    def _encode(self, events: list[Event]) -> EventBatch:
        return self._text.extend(encode_events(events, self._dictionary))

    def _hand_over(self) -> Updatable:
        """The engine, with every change so far applied; the caller holds the lock."""
        if self._engine is not None and self._removed:
            self._engine.remove(np.array(self._removed, np.int32))
        self._removed.clear()
        if self._builder.owners:
            self._close_chunk()
        if self._engine is None:
            table = SubscriptionTable.concat([SubscriptionTable.empty(self._dictionary), *self._added])
            if self._sample is not None:
                self._choose(self._sample, table)
            self._engine = updatable(self._kind, table, self._options)
        elif self._added:
            self._engine.insert(SubscriptionTable.concat(self._added))
        self._added.clear()
        return self._engine

    def _choose(self, sample: Sample, table: SubscriptionTable) -> None:
        """Settle on an engine, once and for all."""
        self.choice, self._sample = decide(sample, table, self.type, self.limits), None
        self.engine_name = self.choice.engine
        self._kind = engine_class(self.engine_name)
        self._options = make_options(self._kind.options_type, self.engine_name, {})
        self._plain, self._most = self._most_pairs()

    def _close_chunk(self) -> None:
        self._added.append(self._builder.build())
        self._builder = TableBuilder(self._dictionary)

    def _allocate(self, identifier: SubscriptionId | None, text: str) -> int:
        dense = self._free.take()
        if dense is not None:
            self._ids[dense], self._filters[dense] = identifier, text
        else:
            dense = len(self._ids)
            self._ids.append(identifier)
            self._filters.append(text)
        return dense

    def _check_new(self, identifier: SubscriptionId) -> None:
        if isinstance(identifier, bool) or not isinstance(identifier, (str, int)):
            raise SubscriptionError(f"a subscription id is a string or an integer, not {identifier!r}")
        if identifier in self._dense:
            raise SubscriptionError(f"subscription {identifier!r} is there already; use replace() to change it")

    def _known(self, identifier: SubscriptionId) -> int:
        found = self._dense.get(identifier)
        if found is None:
            raise SubscriptionError(f"there is no subscription {identifier!r}")
        return found


def operator_terms(dnf: Dnf) -> Dnf:
    """The conjunctions that need operators."""
    return tuple(term for term in dnf if needs_operators(term))
