import json

import pytest

from tamis.errors import SchemaError
from tamis.model.portable import type_from_data, type_to_data
from tamis.model.schema import Attribute, EnumDomain, IntDomain, PlainDomain, PublicationType


def test_types_survive_json():
    type = PublicationType(
        [
            Attribute("a", IntDomain()),
            Attribute("b", IntDomain(0, 9), many=True),
            Attribute("c", EnumDomain(("x", 1))),
            *(Attribute(name, PlainDomain(name)) for name in ("float", "bool", "string", "timestamp")),
        ]
    )
    assert type_from_data(json.loads(json.dumps(type_to_data(type)))) == type


@pytest.mark.parametrize(
    "data", [{}, {"name": "x", "attributes": [{"name": "a", "many": False, "domain": {"kind": "blob"}}]}]
)
def test_nonsense_is_refused(data):
    with pytest.raises(SchemaError):
        type_from_data(data)
