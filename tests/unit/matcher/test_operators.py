"""Conditions with operators, through the whole Matcher, against an evaluation of all substitutions in plain Python."""

import asyncio
import itertools
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.unit.operators import misbehaving

from tamis import Matcher
from tamis.candidates.schedule.plan import RULES
from tamis.encoding.events import encode_events
from tamis.engines.registry import DEFAULT
from tamis.errors import OperatorError
from tamis.lang import normalise, parse
from tamis.model.evaluate import holds
from tamis.model.event import normalise as normalise_event
from tamis.model.limits import Limits
from tamis.model.predicate import Constraint, OperatorPredicate, Variable
from tamis.operators.constraints import constraint_holds
from tamis.operators.registry import Registry


def spots(event: Any) -> list[tuple[int, int]]:
    """Rows that depend on the event alone."""
    n = event["n"]
    return [(i, (i * n) % 4) for i in range(n % 4)]


def make_registry(calls: Counter[tuple[Any, ...]]) -> Registry:
    registry = Registry()

    @registry.operator("over", selectivity=0.3)
    def over(event, least):
        calls[event["id"], "over", least] += 1
        return event["n"] > least

    @registry.operator("count", outputs=1)
    async def count(event):
        calls[event["id"], "count"] += 1
        await asyncio.sleep(0)
        return event["n"] % 5

    @registry.operator("spot", outputs=2, batch=True)
    def spot(events):
        for event in events:
            calls[event["id"], "spot"] += 1
        return [spots(event) for event in events]

    return registry


ROWS: dict[str, Any] = {
    "over": lambda event, arguments: [()] if event["n"] > arguments[0] else [],
    "count": lambda event, arguments: [(event["n"] % 5,)],
    "spot": lambda event, arguments: spots(event),
}
INPUTS = {"over": 1, "count": 0, "spot": 0}


def rows_of(atom: OperatorPredicate, event):
    pattern = atom.arguments[INPUTS[atom.name] :]
    for row in ROWS[atom.name](event, atom.arguments):
        bound: dict[str, Any] = {}
        if all(
            bound.setdefault(p.name, v) == v if isinstance(p, Variable) else p == v
            for p, v in zip(pattern, row, strict=True)
        ):
            yield bound


def expected(text: str, raw) -> bool:
    """Every term, every substitution of its variables by the values 0…5."""
    event = normalise_event(raw)
    for term in normalise(parse(text)):
        names = sorted({n for x in term if not hasattr(x.atom, "attribute") for n in x.atom.variables})
        for values in itertools.product(range(6), repeat=len(names)):
            theta = dict(zip(names, values, strict=True))

            def true(literal, theta=theta) -> bool:
                atom = literal.atom
                if isinstance(atom, OperatorPredicate):
                    found = any(all(theta[n] == v for n, v in row.items()) for row in rows_of(atom, raw))
                    return found is not literal.negated
                outcome = constraint_holds(atom, theta) if isinstance(atom, Constraint) else holds(atom, event)
                return outcome is (not literal.negated)

            if all(true(literal) for literal in term):
                return True
    return False


PIECES = [
    "over(1)", "over(2)", "over(5)", "not over(3)", "count(?c)", "count(2)", "spot(?i, ?j)", "spot(?c, ?k)", "spot(?x, ?x)",
    "kind = 'a'", "n < 6", "missing(kind)", "n > 3",
]  # fmt: skip
CONSTRAINTS = ["?c > 1", "?i < ?j", "?c = 2 * ?i", "not (?c = 3)", "?k / ?c > 1", "not spot(?c, 1)", "not count(?i)"]

PATTERNS = {"over": 1, "count": 2, "spot": 3}  # distinct predicates above that call the operator with the same inputs


def random_condition(rng: random.Random, registry: Registry) -> str:
    while True:
        terms = []
        for _ in range(rng.choice([1, 1, 2])):
            parts = rng.sample(PIECES, rng.randint(1, 4)) + rng.sample(CONSTRAINTS, rng.randint(0, 2))
            terms.append(" and ".join(parts))
        text = " or ".join(f"({t})" for t in terms)
        probe = Matcher("scan", registry=registry)
        try:
            probe.subscribe("x", text)
        except OperatorError:
            continue
        return text


@pytest.mark.parametrize("schedule", RULES)
@pytest.mark.parametrize("engine", sorted({"scan", DEFAULT}))
def test_matches_are_those_of_all_substitutions(schedule: str, engine: str):
    rng = random.Random(f"{schedule} {engine}")
    calls: Counter[tuple[Any, ...]] = Counter()
    registry = make_registry(calls)
    matcher = Matcher(engine, schedule=schedule, registry=registry)
    alive: dict[int, str] = {}
    matched = 0
    for step in range(3):
        for _ in range(15):
            alive[len(alive) + 1000 * step] = text = random_condition(rng, registry)
            matcher.subscribe(len(alive) - 1 + 1000 * step, text)
        for gone in rng.sample(sorted(alive), 6):
            matcher.unsubscribe(gone)
            del alive[gone]
        events = [
            {"id": 100 * step + k, "n": rng.randint(0, 9), "kind": rng.choice(["a", "b", None])} for k in range(12)
        ]
        calls.clear()
        found = matcher.match_many(events)
        assert all(times <= PATTERNS[name[1]] for name, times in calls.items()), "once per event and predicate"
        for event, ids in zip(events, found, strict=True):
            assert sorted(ids) == sorted(i for i, text in alive.items() if expected(text, event))
            matched += len(ids)
    assert matched > 20
    matcher.close()


def test_spot_predicates_with_other_patterns_are_other_predicates():
    calls: Counter[tuple[Any, ...]] = Counter()
    matcher = Matcher(registry=make_registry(calls))
    matcher.subscribe(1, "spot(?a, ?b) and ?a = 1")
    matcher.subscribe(2, "spot(?p, ?q) and ?q = 1")
    matcher.subscribe(3, "spot(?x, ?x)")
    assert matcher.stats().details["operators"]["predicates"] == 2
    matcher.match({"id": 1, "n": 2})
    assert calls[1, "spot"] == 2
    matcher.close()


def test_operators_run_for_survivors_only():
    calls: Counter[tuple[Any, ...]] = Counter()
    matcher = Matcher(registry=make_registry(calls))
    matcher.subscribe("cheap fails", "kind = 'b' and over(1)")
    matcher.subscribe("already matched", "kind = 'a' or over(2)")
    assert matcher.match({"id": 1, "n": 5, "kind": "a"}) == ["already matched"]
    assert not calls
    matcher.subscribe("needs it", "kind = 'a' and over(1)")
    assert sorted(matcher.match({"id": 2, "n": 5, "kind": "a"})) == ["already matched", "needs it"]
    assert calls == {(2, "over", 1): 1}


def test_one_false_predicate_spares_the_others():
    calls: Counter[tuple[Any, ...]] = Counter()
    matcher = Matcher(registry=make_registry(calls))
    for i in range(50):
        matcher.subscribe(i, f"over(100) and over({i})")
    for k in range(30):
        assert matcher.match({"id": k, "n": 50}) == []
    late = [name for name in calls if name[0] == 29]
    assert late == [(29, "over", 100)], "having learned which predicate is hardly ever true"


def test_a_constraint_is_tested_as_soon_as_its_operator_has_answered():
    calls: Counter[str] = Counter()
    registry = Registry()

    @registry.operator("first", outputs=1, cost=1e-6, selectivity=0.1)
    def first(event):
        calls["first"] += 1
        return 1

    @registry.operator("second", cost=10.0, selectivity=0.9)
    def second(event):
        calls["second"] += 1
        return True

    matcher = Matcher(registry=registry)
    matcher.subscribe("s", "first(?x) and ?x > 3 and second()")
    assert matcher.match({"n": 1}) == []
    assert calls == {"first": 1}


def misbehaving_registry() -> Registry:
    registry = Registry()
    limits = {"isolate": True, "seconds": 0.4, "megabytes": 256}
    for name in ("raises", "sleeps", "allocates", "exits", "wrong_type", "fine", "count"):
        outputs = 1 if name == "count" else None
        registry.operator(name, **limits, outputs=outputs)(getattr(misbehaving, name))
    return registry


def test_misbehaving_operators_change_no_other_result():
    events = [{"n": n, "kind": "a"} for n in range(4)]
    good = {
        "cheap": "kind = 'a' and n > 1",
        "fine": "fine(2)",
        "counted": "count(?n) and ?n < 3",
        "both": "fine(1) and n < 3",
    }
    healthy = Matcher(registry=misbehaving_registry())
    healthy.subscribe_many(good.items())
    want = [sorted(map(str, ids)) for ids in healthy.match_many(events)]
    healthy.close()

    matcher = Matcher(registry=misbehaving_registry())
    matcher.subscribe_many(good.items())
    bad = ("raises", "sleeps", "allocates", "exits", "wrong_type")
    for name in bad:
        matcher.subscribe(name, f"{name}()")
        matcher.subscribe(f"not {name}", f"not {name}()")
        matcher.subscribe(f"{name} or fine", f"{name}() or n >= 2")
    found = [sorted(map(str, ids)) for ids in matcher.match_many(events)]
    for n, ids in enumerate(found):
        others = [i for i in ids if not any(name in i for name in bad)]
        assert others == want[n]
        assert [i for i in ids if "or fine" in i] == (sorted(f"{name} or fine" for name in bad) if n >= 2 else [])
        assert not any(i in bad or i.startswith("not ") for i in ids), "unknown matches neither way"
    told = {"raises": "no good", "sleeps": "longer than seconds", "allocates": "MemoryError", "exits": "exit code 3"}
    for name in bad:
        status = matcher.status(name)
        assert status[f"{name}()"].count == 4
        assert told.get(name, "not true or false") in status[f"{name}()"].last
    assert matcher.status("fine") == {}
    matcher.close()


def test_breaker_stops_calling_and_says_so():
    calls: Counter[str] = Counter()
    registry = Registry()

    @registry.operator("bad")
    def bad(event):
        calls["bad"] += 1
        raise ValueError("always")

    matcher = Matcher(registry=registry)
    matcher.subscribe("s", "bad()")
    for _ in range(20):
        assert matcher.match({"n": 1}) == []
    assert calls["bad"] == 5
    status = matcher.status("s")["bad()"]
    assert status.count == 20
    assert "left alone" in status.last
    assert matcher.stats().details["operators"]["breakers"] == {"bad": "open"}


def test_an_absent_attribute_is_unknown_and_no_failure():
    registry = Registry()
    registry.operator("near")(lambda event, where: event["lat"] > where)
    matcher = Matcher(registry=registry)
    matcher.subscribe("s", "near(1)")
    matcher.subscribe("not", "not near(1)")
    assert matcher.match({"x": 1}) == []
    assert matcher.status("s") == {}
    assert matcher.match({"lat": 2}) == ["s"]


def test_a_blocking_coroutine_spoils_its_round_only():
    registry = Registry()

    @registry.operator("slow", seconds=0.2)
    async def slow(event):
        await asyncio.sleep(1000)

    @registry.operator("blocks", seconds=0.2)
    async def blocks(event):
        time.sleep(2)
        return True

    @registry.operator("quick")
    async def quick(event):
        return True

    matcher = Matcher(registry=registry)
    matcher.subscribe("slow", "slow()")
    assert matcher.match({"n": 1}) == []
    assert "longer than seconds" in matcher.status("slow")["slow()"].last
    matcher.replace("slow", "blocks()")
    assert matcher.match({"n": 1}) == []
    assert "blocked the event loop" in matcher.status("slow")["blocks()"].last
    matcher.replace("slow", "quick()")
    assert matcher.match({"n": 1}) == ["slow"]
    matcher.close()


def test_one_bad_event_of_a_batch():
    registry = Registry()

    @registry.operator("even", batch=True)
    def even(events):
        return [event["n"] % 2 == 0 if event["n"] != 3 else 1 / 0 for event in events]

    matcher = Matcher(registry=registry)
    matcher.subscribe("s", "even()")
    assert matcher.match_many([{"n": n} for n in range(5)]) == [["s"], [], ["s"], [], ["s"]]
    assert matcher.status("s")["even()"].count == 1


def test_too_many_bindings():
    registry = Registry()
    registry.operator("many", outputs=1)(lambda event: range(200))
    registry.operator("flood", outputs=1, bindings=50)(lambda event: range(200))
    matcher = Matcher(registry=registry, limits=Limits(bindings=1000))
    matcher.subscribe("join", "many(?a) and many(?b) and ?a > ?b")
    matcher.subscribe("flood", "flood(?a)")
    assert matcher.match({"n": 1}) == []
    assert "more than bindings = 1,000 rows" in matcher.status("join")["joining the bindings"].last
    assert "more rows than bindings = 50" in matcher.status("flood")["flood(?a)"].last


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ovr(1)", "did you mean 'over'"),
        ("over(1, 2)", "takes 1 argument, not 2"),
        ("over(1) and ?n > 3", "not bound"),
        ("count(?n) and ?n / 0 > 3", "divides by zero"),
        ("not count(?n)", "a negated operator binds nothing"),
    ],
)
def test_refused_subscriptions_leave_no_trace(text, told):
    matcher = Matcher(registry=make_registry(Counter()))
    matcher.subscribe("kept", "over(1)")
    with pytest.raises(OperatorError, match=told):
        matcher.subscribe("new", text)
    with pytest.raises(OperatorError, match=told):
        matcher.replace("kept", text)
    assert "kept" in matcher
    assert len(matcher) == 1
    assert matcher.match({"id": 1, "n": 5}) == ["kept"]


def test_explain_shows_bindings_failures_and_the_witness():
    registry = make_registry(Counter())
    registry.operator("bad")(misbehaving.raises)
    matcher = Matcher(registry=registry)
    matcher.subscribe("s", "kind = 'a' and count(?c) and ?c > 2 and not bad()")
    matcher.subscribe("t", "count(?c) and spot(?i, ?j) and ?c = ?i + 1")
    told = matcher.explain("s", {"id": 1, "n": 3, "kind": "a"})
    assert not told.matched
    assert "count(?c)   (?c = 3)" in told.text
    assert "?c > 2   (?c = 3)" in told.text
    assert "bad()   (ValueError: no good)" in told.text
    told = matcher.explain("t", {"id": 1, "n": 3})
    assert told.matched
    assert matcher.match({"id": 1, "n": 3}) == ["t"]
    assert "?c = 3" in told.text
    assert "?i = 2" in told.text
    assert told.data["outcome"] == "true"
    assert not matcher.explain("t", {"id": 1, "n": 4}).matched
    matcher.close()


def test_nobody_waits_for_an_operator_but_those_who_need_one():
    registry, started, go_on = Registry(), threading.Event(), threading.Event()

    @registry.operator("waits")
    def waits(event):
        started.set()
        return go_on.wait(20)

    matcher = Matcher(registry=registry)
    matcher.subscribe("slow", "waits()")
    matcher.subscribe("gone", "n > 0 and waits()")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(matcher.match, {"n": 1})
        assert started.wait(20)
        matcher.subscribe("new", "n > 0 and waits()")
        matcher.subscribe("cheap", "n > 0")
        matcher.unsubscribe("gone")
        matcher.replace("cheap", "n = 1")
        assert matcher.status("slow") == {}
        assert matcher.stats().subscriptions == 3
        go_on.set()
        assert running.result(20) == ["slow"]
    assert sorted(map(str, matcher.match({"n": 1}))) == ["cheap", "new", "slow"]


@pytest.mark.parametrize("engine", sorted({"scan", "dynamic", DEFAULT}))
def test_subscriptions_come_and_go_while_others_match(engine):
    """Writers and readers at once: whoever is there throughout is found every time, nobody is found under another's id."""
    calls: Counter[tuple[Any, ...]] = Counter()
    matcher = Matcher(engine, registry=make_registry(calls))
    matcher.subscribe("always", "over(1)")
    matcher.subscribe("never", "over(100)")

    def churn(name: str) -> None:
        for i in range(60):
            matcher.subscribe(
                f"{name} {i}", f"n > 0 and over({i % 7})" if i % 2 else "n > 0 and spot(?a, ?b) and ?a < ?b"
            )
            if i >= 10:
                matcher.unsubscribe(f"{name} {i - 10}")

    def read(first: int) -> list[list[Any]]:
        return [matcher.match({"id": first + i, "n": 7}) for i in range(60)]

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(churn, name) for name in ("a", "b")]
        readers = [pool.submit(read, 1000 * k) for k in (1, 2)]
        found = [ids for reader in readers for ids in reader.result(300)]
        for writer in writers:
            writer.result(300)
    assert all("always" in ids and "never" not in ids and len(ids) == len(set(ids)) for ids in found)
    left = {"always"} | {f"{name} {i}" for name in ("a", "b") for i in range(50, 60) if i % 2}
    odd = {i for i in matcher.match({"id": 1, "n": 7}) if i == "always" or int(str(i).split()[1]) % 2}
    assert odd == left
    matcher.close()


def test_batches_take_the_whole_events_along():
    calls: Counter[tuple[Any, ...]] = Counter()
    matcher = Matcher(registry=make_registry(calls))
    matcher.subscribe("s", "kind = 'a' and over(3)")
    matcher.subscribe("t", "n < 5")
    events = [normalise_event({"id": i, "n": i, "kind": "ab"[i % 2]}) for i in range(8)]
    batch = encode_events(events, matcher._dictionary)
    with pytest.raises(OperatorError, match="pass them as `events`"):
        matcher.match_batch(batch)
    found = matcher.match_batch(batch, events)
    names = [sorted(map(str, matcher.ids_of(found.of(i)))) for i in range(8)]
    assert names == [sorted(map(str, ids)) for ids in matcher.match_events(events)]
    assert names[4] == ["s", "t"]
    looked: list[int] = []

    class Rows(list[Any]):
        def __getitem__(self, i: Any) -> Any:
            looked.append(i)
            return super().__getitem__(i)

    matcher.match_batch(batch, Rows(events))
    assert looked == [0, 2, 4, 6], "only events with a surviving condition"


def test_failures_are_counted_for_good():
    registry = Registry()
    registry.operator("bad")(misbehaving.raises)
    registry.operator("many", outputs=1)(lambda event: range(200))
    matcher = Matcher(registry=registry, limits=Limits(bindings=1000))
    assert matcher.operator_failures == 0
    matcher.subscribe("s", "bad()")
    matcher.match_many([{"n": 1}, {"n": 2}])
    assert matcher.operator_failures == 2
    matcher.unsubscribe("s")
    matcher.subscribe("join", "many(?a) and many(?b) and ?a > ?b")
    matcher.match({"n": 1})
    assert matcher.operator_failures == 3
    assert matcher.stats().details["operators"]["failures"] == 3


def test_saved_and_loaded_with_its_schedule(tmp_path):
    registry = make_registry(Counter())
    matcher = Matcher(schedule="popular", registry=registry)
    matcher.subscribe("s", "over(2) and n < 5")
    matcher.save(tmp_path / "m")
    loaded = Matcher.load(tmp_path / "m", registry=registry)
    assert loaded.match({"id": 1, "n": 4}) == ["s"]
    assert loaded.stats().details["operators"]["schedule"] == "popular"
    assert loaded.stats().subscriptions == 1
