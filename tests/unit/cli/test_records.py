"""What a row means, as subscription and as event."""

import pytest

from tamis.cli.problems import Problems
from tamis.cli.readers import Row
from tamis.cli.records import Subscription, events, scalar, subscription
from tamis.cli.source import source
from tamis.errors import DataError
from tamis.model.schema import Domain, EnumDomain, IntDomain, PlainDomain, PublicationType


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-1.5e3", -1500.0),
        ("true", True),
        ("null", None),
        ('"5"', "5"),
        ("007", "007"),
        ("NaN", "NaN"),
        ("[1]", "[1]"),
        ("Sony", "Sony"),
        ("a\udc80", "a\udc80"),
    ],
)
def test_csv_values_are_json_scalars_where_they_can_be(text, value):
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_a_subscription_has_an_id_and_a_filter():
    assert subscription(Row(3, 2, {"id": "bob", "filter": "a = 1"}), False) == Subscription(3, "bob", "a = 1")
    assert subscription(Row(3, 2, {"id": "12", "filter": "a = 1"}), True).id == 12
    assert subscription(Row(3, 2, {"id": str(2**63), "filter": "a = 1"}), True).id == str(2**63)
    assert subscription(Row(3, 2, {"id": "1.5", "filter": "a = 1"}), True).id == "1.5"
    assert subscription(Row(3, 2, {"id": "12", "filter": "a = 1"}), False).id == "12"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1], "is an object"),
        ({"id": 1}, "needs 'filter'; this one has 'id'"),
        ({}, "needs 'id'; this one has nothing"),
        ({"id": True, "filter": "a = 1"}, "not True"),
        ({"id": 2**63, "filter": "a = 1"}, "integer of 64 bits"),
        ({"id": [1], "filter": "a = 1"}, r"not \[1\]"),
        ({"id": 1, "filter": 2}, "not a string"),
    ],
)
def test_a_row_that_is_no_subscription(data, message):
    with pytest.raises(DataError, match=message):
        subscription(Row(1, 1, data), False)


def test_declared_text_stays_text(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("zip,n,size\n69001,5,1\n")
    domains: dict[str, Domain] = {"zip": PlainDomain("string"), "n": IntDomain(), "size": EnumDomain(("1", "2"))}
    declared = PublicationType(domains)
    (chunk,) = (chunk for chunk in events(source(str(path)), declared, Problems()) if chunk)
    assert chunk == [Row(2, 1, {"zip": "69001", "n": 5, "size": "1"})]
    (chunk,) = (chunk for chunk in events(source(str(path)), None, Problems()) if chunk)
    assert chunk == [Row(2, 1, {"zip": 69001, "n": 5, "size": 1})]
