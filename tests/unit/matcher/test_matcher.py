import threading

import pytest

from tamis import Matcher, attr
from tamis.errors import EventError, FilterError, LimitError, SubscriptionError
from tamis.model.limits import Limits
from tamis.model.predicate import Op, Predicate
from tamis.model.schema import Attribute, IntDomain, PlainDomain, PublicationType
from tamis.model.subscription import Not

CAMERA = "item = 'camera' and price < 300 and manufacturer in ('Sony', 'Nikon', 'Panasonic') and zoom > 4"
CHEAP = {"item": "camera", "color": "red", "weight": 8, "pixels": 14, "price": 199, "manufacturer": "Sony", "zoom": 5}
DEAR = {"item": "camera", "pixels": 14, "price": 399, "manufacturer": "Sony", "zoom": 5}
VAGUE = {"item": "camera", "price": 129, "manufacturer": "Sony"}


@pytest.fixture
def matcher():
    made = Matcher()
    made.subscribe("alice", CAMERA)
    return made


def test_the_camera_example(matcher):
    assert [matcher.match(event) for event in (CHEAP, DEAR, VAGUE)] == [["alice"], [], []]


def test_the_camera_example_explained(matcher):
    assert matcher.explain("alice", CHEAP).matched
    dear = matcher.explain("alice", DEAR)
    assert not dear.matched
    assert "✗ price < 300   (price is 399)" in dear.text
    assert [child["outcome"] for child in dear.data["children"]] == ["true", "false", "true", "true"]
    assert "? zoom > 4   (zoom is absent)" in matcher.explain("alice", VAGUE).text


def test_the_builder_gives_the_same(matcher):
    matcher.subscribe("bob", (attr("item") == "camera") & (attr("price") < 300))
    assert sorted(matcher.match(CHEAP)) == ["alice", "bob"]
    assert matcher.filter("bob") == "item = 'camera' and price < 300"


def test_ids_are_the_users_own(matcher):
    matcher.subscribe(7, "true")
    assert matcher.match({}) == [7]
    assert 7 in matcher
    assert len(matcher) == 2
    assert sorted(map(str, matcher)) == ["7", "alice"]
    for bad in (True, 1.5, None):
        with pytest.raises(SubscriptionError, match="string or an integer"):
            matcher.subscribe(bad, "true")
    with pytest.raises(SubscriptionError, match="there already"):
        matcher.subscribe(7, "true")
    with pytest.raises(SubscriptionError, match="no subscription 'eve'"):
        matcher.unsubscribe("eve")


def test_changes_are_seen_by_the_next_match(matcher):
    matcher.match(CHEAP)
    matcher.subscribe("bob", "zoom >= 5")
    assert sorted(matcher.match(CHEAP)) == ["alice", "bob"]
    matcher.unsubscribe("alice")
    matcher.subscribe("carol", "price = 199")
    assert sorted(matcher.match(CHEAP)) == ["bob", "carol"]
    matcher.replace("carol", "price = 200")
    assert matcher.match(CHEAP) == ["bob"]
    with pytest.raises(FilterError):
        matcher.replace("bob", "zoom >=")
    assert matcher.match(CHEAP) == ["bob"]


def test_many_at_once(matcher):
    problems = []
    pairs = [(i, f"zoom = {i}" if i != 3 else "zoom =") for i in range(10)]
    assert matcher.subscribe_many(pairs, on_error=lambda *problem: problems.append(problem)) == 9
    assert [(position, identifier) for position, identifier, _ in problems] == [(3, 3)]
    assert matcher.match_many([{"zoom": 2}, {"zoom": 3}, {"zoom": [4, 5]}]) == [[2], [], [4, 5]]
    with pytest.raises(FilterError):
        matcher.subscribe_many([("x", "zoom = 1"), ("y", "(")])
    assert "x" in matcher


def test_bad_events_are_refused(matcher):
    for event, message in (
        ([1], "an event is an object"),
        ({"price": float("nan")}, "not a finite number"),
        ({"price": 2**63}, "does not fit in 64 bits"),
        ({"a": {"b": 1}, "a.b": 2}, "given twice"),
        ({"": 1}, "non-empty strings"),
        ({"x": object()}, "not a scalar"),
    ):
        with pytest.raises(EventError, match=message):
            matcher.match(event)


def test_a_type_is_enforced_on_both_sides():
    declared = PublicationType([Attribute("price", IntDomain(0, 1000)), Attribute("when", PlainDomain("timestamp"))])
    matcher = Matcher(type=declared)
    matcher.subscribe("late", "when >= '2026-01-01T00:00:00Z' and price < 10")
    assert matcher.match({"when": "2026-06-01T00:00:00+02:00", "price": 5}) == ["late"]
    with pytest.raises(FilterError, match="price"):
        matcher.subscribe("x", "price = 2000")
    with pytest.raises(EventError, match=r"'price': 1001 is outside its domain int\[0..1000\]"):
        matcher.match({"price": 1001})
    with pytest.raises(EventError, match="did you mean 'price'"):
        matcher.match({"pricee": 1})


def test_limits_are_named():
    matcher = Matcher(limits=Limits(predicates=3))
    with pytest.raises(LimitError, match="predicates = 3"):
        matcher.subscribe("x", "a = 1 and b = 2 and c = 3 and d = 4")


def test_threads_may_share_a_matcher():
    matcher = Matcher()
    failures = []

    def work(base):
        try:
            for i in range(base, base + 50):
                matcher.subscribe(i, f"k = {i}")
                assert i in matcher.match({"k": i})
                matcher.unsubscribe(i)
        except Exception as problem:
            failures.append(problem)

    threads = [threading.Thread(target=work, args=(1000 * t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(matcher) == 0


def test_save_and_load(matcher, tmp_path):
    matcher.subscribe(7, "price = 199")
    matcher.save(tmp_path / "index")
    matcher.unsubscribe(7)
    matcher.save(tmp_path / "index")
    matcher.subscribe(8, "price = 199")
    matcher.save(tmp_path / "index")
    loaded = Matcher.load(tmp_path / "index")
    assert sorted(map(str, loaded.match(CHEAP))) == ["8", "alice"]
    assert loaded.filter("alice") == CAMERA


@pytest.mark.parametrize("filter", [None, 5, b"a = 1", ["a = 1"], Not(Predicate("a", Op.LT, (True,)))])
def test_what_is_no_filter_is_refused(filter):
    with pytest.raises(FilterError):
        Matcher().subscribe(1, filter)


def test_a_condition_that_arrives_while_an_event_is_matched_sees_the_whole_event(monkeypatch):
    """The event was encoded before anybody asked for x: the engine must not take x for missing."""
    matcher = Matcher()
    matcher.subscribe("old", "n > 0")
    matcher.match({"n": 1})
    engine = matcher._engine
    assert engine is not None
    match, late = engine.match, iter([True])

    def interrupted(batch):
        if next(late, False):
            matcher.subscribe("missing", "missing(x)")
            matcher.subscribe("other", "n > 0 and not (name = 'ann')")
            matcher.stats()  # hands the change over to the engine
        return match(batch)

    monkeypatch.setattr(engine, "match", interrupted)
    assert matcher.match({"n": 1, "x": 2, "name": "ann"}) == ["old"]
