import json

import pytest

from tamis.candidates.statistics import presence, read_profile
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.errors import DataError

PROFILE = {
    "attributes": {
        "brand": {"presence": 0.9, "distinct": 11, "heavy": [["Acme", 0.4]]},
        "nobody": {"presence": 0.1},
    }
}


def known() -> Dictionary:
    dictionary = Dictionary()
    dictionary.attribute("brand")
    dictionary.intern("Acme")
    return dictionary


def test_heavy_values_have_their_share_and_the_others_split_the_rest(tmp_path):
    dictionary = known()
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(PROFILE))
    for source in (PROFILE, file, str(file)):
        profile = read_profile(source, dictionary)
        assert list(profile) == [0]
        assert profile[0].presence == 0.9
        assert profile[0].chance(dictionary.key("Acme")) == 0.4
        assert profile[0].chance(dictionary.intern("Sony")) == pytest.approx(0.05)


@pytest.mark.parametrize("source", [{}, {"attributes": []}, {"attributes": {"brand": {"heavy": 3}}}, "no such file"])
def test_what_is_no_profile_is_refused(source):
    with pytest.raises(DataError, match="cannot be read"):
        read_profile(source, known())


def test_presence_counts_an_attribute_once_an_event():
    dictionary = Dictionary()
    for name in ("a", "b", "c"):
        dictionary.attribute(name)
    batch = encode_events([{"a": (1, 2)}, {"a": (1,), "b": (1,)}, {}, {"c": (3,), "a": (1,)}], dictionary)
    assert presence(batch, 3).tolist() == [0.75, 0.25, 0.25]
    assert presence(batch, 2).tolist() == [0.75, 0.25]
