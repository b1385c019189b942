import pytest
from tests.unit.bench.sets import TOML, small_suite

from tamis.bench.prepare import KINDS
from tamis.bench.spec import PROFILES, chosen_suites, load_suite, parse_suite, plan, suite_names
from tamis.engines.registry import ENGINES, engine_class
from tamis.errors import DataError, EngineError

ALL = {
    "topss-predicates", "topss-subscriptions", "fabret-scaling", "fabret-operators", "fabret-drift", "rapid",
    "operators", "pubsub", "spark", "broker", "reference",
}  # fmt: skip


def test_every_suite_is_there_and_sound():
    assert set(suite_names()) == ALL
    for suite in chosen_suites(["all"]):
        for profile in PROFILES:
            runs = plan(suite, profile)
            assert runs
            assert len({run.key for run in runs}) == len(runs)
            for run in (run for run in runs if run.kind == "match"):
                engine_class(run.engine)
                assert run.workload["kind"] in KINDS
        assert {claim.figure for claim in suite.claims} <= {figure.id for figure in suite.figures}


def test_runs_are_engines_times_workloads_within_limits():
    runs = plan(small_suite(), "quick")
    assert [(run.label, run.workload["subscriptions"]) for run in runs] == [
        ("left", 50), ("right", 50), ("left", 100), ("right", 100), ("left", 200),
    ]  # fmt: skip
    assert len(plan(small_suite(), "quick", repeats=3)) == 15


def test_engines_are_chosen_by_label_or_name_and_a_new_one_joins():
    assert {run.label for run in plan(small_suite(), "quick", ["left"])} == {"left"}
    assert {run.label for run in plan(small_suite(), "quick", ["counting"])} == {"right"}
    joined = plan(small_suite(), "quick", ["tree"])
    assert [(run.engine, run.workload["subscriptions"]) for run in joined] == [("tree", n) for n in (50, 100, 200)]


def test_an_engine_registered_by_one_line_gets_into_every_plot(monkeypatch):
    monkeypatch.setitem(ENGINES, "mine", "tamis.engines.scan:ScanEngine")
    for suite in chosen_suites(["all"]):
        groups = {group.name for group in suite.groups if group.kind == "match" and group.workloads("quick")}
        assert {run.group for run in plan(suite, "quick", ["mine"]) if run.label == "mine"} == groups


def test_unknown_names_are_told_with_the_nearest():
    with pytest.raises(DataError, match=r"no suite 'rapit'; did you mean 'rapid'\?"):
        load_suite("rapit")
    with pytest.raises(EngineError, match=r"no engine 'countin'; did you mean 'counting'\?"):
        plan(small_suite(), "quick", ["countin"])
    with pytest.raises(DataError, match=r"no profile 'quik'; did you mean 'quick'\?"):
        plan(small_suite(), "quik")


@pytest.mark.parametrize(
    ("was", "written", "told"),
    [
        ('engines = ["left", "right"]', 'engines = ["lefd"]', "names 'lefd', which is not there; did you mean 'left'"),
        ('group = "sizes"', 'group = "size"', "figure '1' names 'size'"),
        ('figure = "1"', 'figure = "2"', "names '2', which is not there"),
        ('x = "subscriptions"', 'z = "subscriptions"', "unexpected keyword argument 'z'"),
    ],
)
def test_mistakes_in_a_suite_are_named(was, written, told):
    with pytest.raises(DataError, match=told):
        parse_suite("small", TOML.replace(was, written))
