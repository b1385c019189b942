import pyarrow as pa
import pytest
from hypothesis import given
from tests.contract.worlds import populations

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.saved import dictionary_from_arrow, dictionary_to_arrow, load_dictionary, save_dictionary
from tamis.encoding.subscriptions import encode_subscriptions
from tamis.errors import StorageError
from tamis.model.schema import Attribute, EnumDomain, IntDomain, PlainDomain, PublicationType

TYPE = PublicationType(
    [
        Attribute("a", IntDomain(0, 9), many=True),
        Attribute("b", EnumDomain(("x", 1, 2.5, True))),
        Attribute("c", PlainDomain("timestamp")),
        Attribute("d", IntDomain()),
    ],
    "things",
)


@given(populations)
def test_a_dictionary_comes_back_as_it_was(population):
    dictionary = Dictionary(type=TYPE)
    encode_subscriptions(enumerate(population), dictionary)
    assert dictionary_from_arrow(dictionary_to_arrow(dictionary)) == dictionary


def test_through_a_file(tmp_path):
    dictionary = Dictionary()
    dictionary.attribute("price")
    dictionary.intern("Sony")
    save_dictionary(dictionary, tmp_path / "dictionary.arrow")
    assert load_dictionary(tmp_path / "dictionary.arrow") == dictionary


def test_what_is_no_dictionary_is_refused(tmp_path):
    with pytest.raises(StorageError, match="not a saved dictionary"):
        dictionary_from_arrow(pa.table({"strings": ["a"]}))
    with pytest.raises(StorageError, match="cannot read"):
        load_dictionary(tmp_path / "nothing")
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(StorageError, match="cannot read"):
        load_dictionary(tmp_path / "junk")


def test_another_format_is_refused():
    table = dictionary_to_arrow(Dictionary())
    state = table.schema.metadata[b"tamis.dictionary"].replace(b'"format": 1', b'"format": 99')
    with pytest.raises(StorageError, match="format 99"):
        dictionary_from_arrow(table.replace_schema_metadata({b"tamis.dictionary": state}))
