import pytest

from tamis import Matcher
from tamis.errors import MissingExtra, OperatorError
from tamis.operators.registry import OPERATORS, SHIPPED, Operator, Registry


def test_declare_and_find():
    registry = Registry()

    @registry.operator("near", cost=0.5, selectivity=0.1)
    def near(event, lat, lon, metres=100):
        return True

    found = registry.get("near")
    assert (found.least, found.most, found.cost, found.style) == (2, 3, 0.5, "plain")
    assert found.function is near
    assert found.arity == "2 to 3 arguments"


def test_outputs_count_as_arguments_and_styles_are_seen():
    registry = Registry()

    @registry.operator("pair", outputs=2)
    async def pair(event, where):
        return (1, 2)

    @registry.operator("many", batch=True)
    def many(events, *words):
        return [True for _ in events]

    assert (registry.get("pair").least, registry.get("pair").most, registry.get("pair").style) == (3, 3, "async")
    assert (registry.get("many").least, registry.get("many").most, registry.get("many").style) == (0, None, "batch")


def test_unknown_operator_suggests_the_nearest():
    registry = Registry()
    registry.operator("locIn")(lambda event, area: True)
    with pytest.raises(OperatorError, match="no operator 'locin'; did you mean 'locIn'"):
        registry.get("locin")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"selectivity": 2}, "selectivity is a probability"),
        ({"cost": 0}, "cost and limits are positive"),
        ({"seconds": -1}, "cost and limits are positive"),
        ({"batch": True, "isolate": True}, "only plain operators can be isolated"),
    ],
)
def test_contradictory_settings(settings, told):
    with pytest.raises(OperatorError, match=told):
        Registry().operator("x", **settings)(lambda event: True)


def test_a_function_without_the_event():
    with pytest.raises(OperatorError, match="takes the event"):
        Registry().operator("x")(lambda: True)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_operator_loads(name):
    found = OPERATORS.get(name)
    assert isinstance(found, Operator)
    assert found.name == name


def test_a_shipped_operator_whose_library_is_missing_names_the_extra():
    registry = Registry({"gone": "tamis.operators.no_such_module:gone"})
    with pytest.raises(MissingExtra, match=r"tamis\[operators\]"):
        registry.get("gone")


def test_operators_of_other_packages_come_through_entry_points(tmp_path, monkeypatch):
    (tmp_path / "elsewhere.py").write_text(
        "from tamis.operators.registry import make_operator\n"
        "def double(event, n):\n    return event['n'] == 2 * n\n"
        "twice = make_operator('twice', double)\n"
        "wrong = 7\n"
    )
    info = tmp_path / "elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tamis.operators]\ntwice = elsewhere:twice\nwrong = elsewhere:wrong\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry(group="tamis.operators")
    assert "twice" in registry.names()
    matcher = Matcher(registry=registry)
    matcher.subscribe("s", "twice(4)")
    assert matcher.match({"n": 8}) == ["s"]
    with pytest.raises(OperatorError, match="not an Operator"):
        registry.get("wrong")
