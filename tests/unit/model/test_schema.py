"""Publication types: domains, what they admit, and the errors that name attribute, value and domain."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tamis.errors import BindError, EventError, SchemaError
from tamis.model.schema import Attribute, EnumDomain, IntDomain, PlainDomain, PublicationType, domain_kind
from tamis.model.values import INT64_MAX, INT64_MIN, Kind

CAMERA = PublicationType(
    [
        Attribute("price", IntDomain(0, 1000)),
        Attribute("zoom", PlainDomain("float")),
        Attribute("brand", EnumDomain(("Sony", "Leica", 7))),
        Attribute("used", PlainDomain("bool")),
        Attribute("note", PlainDomain("string")),
        Attribute("listed", PlainDomain("timestamp")),
        Attribute("stock", IntDomain()),
    ],
    name="camera",
)


@pytest.mark.parametrize(
    ("name", "given", "stored"),
    [
        ("price", 0, 0),
        ("price", 1000, 1000),
        ("price", 5.0, 5),
        ("stock", INT64_MIN, INT64_MIN),
        ("zoom", 3, 3),
        ("zoom", 3.5, 3.5),
        ("brand", "Sony", "Sony"),
        ("brand", 7, 7),
        ("brand", 7.0, 7.0),
        ("used", False, False),
        ("note", "", ""),
        ("listed", 0, 0),
        ("listed", "1970-01-01", 0),
        ("listed", "1970-01-01T00:00:01Z", 1_000_000),
        ("listed", "1970-01-01T02:00:00.000001+02:00", 1),
        ("listed", "1969-12-31T23:59:59.999999", -1),
        ("listed", datetime(1970, 1, 2, tzinfo=UTC), 86_400_000_000),
        ("listed", datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=-1))), 3_600_000_000),
        ("listed", "0001-01-01T00:00:00+23:59", -62135683140000000),
    ],
)
def test_values_of_the_domain_are_admitted_in_the_form_it_stores(name, given, stored):
    admitted = CAMERA.admit(name, given)
    assert admitted == stored
    assert type(admitted) is type(stored)


@pytest.mark.parametrize(
    ("name", "value", "domain"),
    [
        ("price", -1, r"int\[0\.\.1000\]"),
        ("price", 1001, r"int\[0\.\.1000\]"),
        ("price", 5.5, r"int\[0\.\.1000\]"),
        ("price", True, r"int\[0\.\.1000\]"),
        ("price", "5", r"int\[0\.\.1000\]"),
        ("stock", 2.0**63, "int"),
        ("zoom", "3", "float"),
        ("zoom", False, "float"),
        ("brand", "sony", r"enum\{Sony, Leica, 7\}"),
        ("brand", True, r"enum\{Sony, Leica, 7\}"),
        ("used", 1, "bool"),
        ("used", "true", "bool"),
        ("note", 1, "string"),
        ("listed", "yesterday", "timestamp"),
        ("listed", 1.5, "timestamp"),
        ("listed", True, "timestamp"),
        ("listed", INT64_MAX + 1, "timestamp"),
    ],
)
def test_other_values_are_refused_naming_attribute_value_and_domain(name, value, domain):
    with pytest.raises(
        EventError, match=rf"attribute '{name}': {re.escape(repr(value))} is outside its domain {domain}"
    ):
        CAMERA.admit(name, value)


def test_an_unknown_attribute_suggests_the_nearest():
    with pytest.raises(BindError, match=r"type camera has no attribute 'pirce'; did you mean 'price'\?"):
        CAMERA.attribute("pirce")
    with pytest.raises(EventError, match=r"no attribute 'xyz'$"):
        CAMERA.admit("xyz", 1)


def test_names_are_unique_and_not_empty():
    with pytest.raises(SchemaError, match="'a' is declared twice"):
        PublicationType([Attribute("a", IntDomain()), Attribute("a", PlainDomain("bool"))])
    with pytest.raises(SchemaError, match="empty name"):
        PublicationType({"": IntDomain()})
    with pytest.raises(SchemaError, match="lone surrogate"):
        PublicationType({"a\ud800": IntDomain()})


@pytest.mark.parametrize(
    ("domain", "complaint"),
    [
        (IntDomain(5, 4), "is empty"),
        (IntDomain(0, 2**63), "does not fit in 64 bits"),
        (EnumDomain(()), "at least one value"),
        (EnumDomain((1, 1.0)), "repeats 1.0"),
        (EnumDomain((float("nan"),)), "not a finite number"),
        (PlainDomain("colour"), "no domain 'colour'"),  # type: ignore[arg-type]
    ],
)
def test_malformed_domains_are_refused(domain, complaint):
    with pytest.raises(SchemaError, match=f"attribute 'a': .*{complaint}"):
        PublicationType({"a": domain})


def test_an_enum_keeps_true_and_one_apart():
    PublicationType({"a": EnumDomain((1, True, "1"))})
    assert EnumDomain((1,)) != EnumDomain((True,))
    assert EnumDomain((1,)) == EnumDomain((1,))
    assert hash(EnumDomain(("a",))) == hash(EnumDomain(("a",)))


def test_types_are_equal_whatever_the_order_of_their_attributes():
    one = PublicationType([Attribute("a", IntDomain()), Attribute("b", PlainDomain("bool"))])
    two = PublicationType([Attribute("b", PlainDomain("bool")), Attribute("a", IntDomain())])
    assert one == two
    assert hash(one) == hash(two)
    assert one != PublicationType({"a": IntDomain()})
    assert one != "a type"


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (IntDomain(), Kind.NUMBER),
        (PlainDomain("float"), Kind.NUMBER),
        (PlainDomain("timestamp"), Kind.NUMBER),
        (PlainDomain("bool"), Kind.BOOL),
        (PlainDomain("string"), Kind.STRING),
        (EnumDomain(("a", "b")), Kind.STRING),
        (EnumDomain((1, 2.5)), Kind.NUMBER),
        (EnumDomain((True,)), Kind.BOOL),
        (EnumDomain((1, "a")), None),
        (EnumDomain((1, True)), None),
    ],
)
def test_the_kind_of_a_domain(domain, expected):
    assert domain_kind(domain) is expected
