import json
import threading

import pytest

from tamis import Matcher
from tamis.errors import LimitError, StorageError
from tamis.model.limits import Limits
from tamis.model.schema import IntDomain, PublicationType


@pytest.fixture
def saved(tmp_path):
    matcher = Matcher(type=PublicationType({"a": IntDomain(0, 9)}))
    matcher.subscribe("x", "a < 5")
    matcher.save(tmp_path / "index")
    return tmp_path / "index"


def test_the_type_comes_back(saved):
    loaded = Matcher.load(saved)
    assert loaded.type == PublicationType({"a": IntDomain(0, 9)})
    assert loaded.match({"a": 4}) == ["x"]


@pytest.mark.parametrize("engine", ["tamis", "scan"])
def test_limits_are_those_of_the_loader(tmp_path, engine):
    wide = Limits(predicates=100)
    matcher = Matcher(engine, limits=wide)
    long = " and ".join(f"a{n} = 1" for n in range(80))
    matcher.subscribe("x", long)
    matcher.save(tmp_path / "index")
    loaded = Matcher.load(tmp_path / "index", limits=wide)
    loaded.subscribe("y", long)
    assert sorted(loaded.match({f"a{n}": 1 for n in range(80)})) == ["x", "y"]
    with pytest.raises(LimitError):
        Matcher.load(tmp_path / "index", limits=Limits(predicates=3)).subscribe(
            "z", "a = 1 and b = 1 and c = 1 and d = 1"
        )


def test_damage_is_refused(saved):
    file = next(saved.glob("*.arrow"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(StorageError, match="damaged"):
        Matcher.load(saved)


def test_another_format_is_refused(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(StorageError, match="format 99"):
        Matcher.load(saved)


def test_strangers_are_left_alone(saved, tmp_path):
    with pytest.raises(StorageError, match="cannot read"):
        Matcher.load(tmp_path / "nowhere")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("dear")
    with pytest.raises(StorageError, match="not a saved matcher"):
        Matcher.load(saved).save(tmp_path / "mine")


@pytest.mark.parametrize("engine", ["tamis", "scan"])
def test_what_is_loaded_goes_on_as_what_was_saved(tmp_path, engine):
    """Holes left by removals, strings, patterns, changes after loading, and saving again."""
    matcher = Matcher(engine)
    for n in range(40):
        matcher.subscribe(n, f"a = {n % 7} and s = 'text {n % 3}' or t contains 'x{n % 5}'")
    for n in range(0, 40, 4):
        matcher.unsubscribe(n)
    matcher.save(tmp_path / "index")
    assert (len(list((tmp_path / "index").glob("index-*"))) == 1) == (engine == "tamis")
    loaded = Matcher.load(tmp_path / "index")
    for each in (matcher, loaded):
        each.replace(1, "a = 3 and s = 'new text'")
        each.subscribe("later", "s = 'new text'")
        each.unsubscribe(2)
    events = [{"a": n % 8, "s": f"text {n % 4}", "t": f"..x{n % 6}"} for n in range(30)] + [{"a": 3, "s": "new text"}]
    assert [sorted(map(str, ids)) for ids in loaded.match_many(events)] == [
        sorted(map(str, ids)) for ids in matcher.match_many(events)
    ]
    loaded.save(tmp_path / "index")
    again = Matcher.load(tmp_path / "index")
    assert set(again) == set(matcher)
    assert {again.filter(i) for i in again} == {matcher.filter(i) for i in matcher}
    assert sorted(map(str, again.match(events[-1]))) == sorted(map(str, matcher.match(events[-1])))


def test_loading_a_saved_index_parses_nothing(tmp_path, monkeypatch):
    matcher = Matcher("tamis")
    matcher.subscribe("x", "a < 5")
    matcher.save(tmp_path / "index")
    monkeypatch.setattr(Matcher, "_read", None)
    assert Matcher.load(tmp_path / "index").match({"a": 4}) == ["x"]
    monkeypatch.undo()
    other = Matcher.load(tmp_path / "index", engine="scan")
    assert other.match({"a": 4}) == ["x"]


def test_a_damaged_index_is_refused(tmp_path):
    matcher = Matcher("tamis")
    matcher.subscribe("x", "a < 5")
    matcher.save(tmp_path / "index")
    for file in (tmp_path / "index").glob("index-*/**/*"):
        if file.is_file():
            file.write_bytes(b"junk")
    with pytest.raises(StorageError):
        Matcher.load(tmp_path / "index")


@pytest.mark.parametrize("engine", ["tamis", "scan"])
def test_saving_while_others_subscribe_and_match(tmp_path, engine):
    """Whatever moment is saved, what is loaded is of one moment: a subscription is there with its own condition, or not."""
    matcher = Matcher(engine)
    matcher.subscribe_many((n, f"a = {n}") for n in range(200))
    done = threading.Event()

    def churn():
        n = 200
        while not done.is_set():
            matcher.unsubscribe(n - 200)
            matcher.subscribe(n, f"a = {n}")
            assert matcher.match({"a": n}) == [n]
            n += 1

    other = threading.Thread(target=churn)
    other.start()
    try:
        for _ in range(5):
            matcher.save(tmp_path / "index")
            loaded = Matcher.load(tmp_path / "index")
            assert 199 <= len(loaded) <= 200
            present = sorted(int(n) for n in loaded)
            assert loaded.match_many([{"a": n} for n in present]) == [[n] for n in present]
            assert loaded.match_many([{"a": present[0] - 1}, {"a": present[-1] + 1}]) == [[], []]
    finally:
        done.set()
        other.join()
