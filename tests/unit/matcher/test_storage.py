import json

import pytest

from tamis import Matcher
from tamis.errors import StorageError
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
