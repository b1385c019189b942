import math

import pyarrow as pa
import pytest

from tamis.encoding.bulk_subscriptions import encode_predicates, predicate_faults
from tamis.encoding.dictionary import Dictionary
from tamis.errors import DataError


def rows(**columns):
    size = len(next(iter(columns.values())))
    return pa.table({"subscription": list(range(size)), **columns})


def test_few_columns_suffice():
    table = encode_predicates(rows(attribute=["a", "b"], operator=["=", "<"], integer=[1, 2]), Dictionary())
    assert table.owners.tolist() == [0, 1]
    assert table.attrs.tolist() == [0, 1]


def test_no_rows():
    table = encode_predicates(
        rows(attribute=pa.array([], pa.string()), operator=pa.array([], pa.string())), Dictionary()
    )
    assert len(table) == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"attribute": ["a"], "operator": ["=="], "integer": [1]},
            "row 0: there is no operator '=='.*did you mean '='",
        ),
        ({"attribute": ["a", "a"], "operator": ["=", "="], "integer": [1, None]}, "row 1: .*exactly one value"),
        ({"attribute": ["a"], "operator": ["="], "integer": [1], "float": [1.0]}, "exactly one value"),
        ({"attribute": ["a"], "operator": ["in"], "integer": [1]}, "need a list"),
        ({"attribute": ["a"], "operator": ["in"], "integers": [[1, None]]}, "integers has a null"),
        ({"attribute": ["a"], "operator": ["between"], "integer": [1]}, "upper bound"),
        ({"attribute": ["a"], "operator": ["<"], "float": [math.nan]}, "float is not a finite number"),
        ({"attribute": ["a"], "operator": ["in"], "floats": [[1.0, math.inf]]}, "not finite"),
        ({"attribute": ["a"], "operator": ["like"], "integer": [3]}, "a pattern is a string"),
        ({"attribute": ["a"], "operator": ["matches"], "string": ["("]}, "row 0: not an RE2"),
        ({"attribute": [None], "operator": ["exists"]}, "go together"),
        ({"attribute": ["a"], "operator": ["="], "value": [3]}, "unknown predicate column 'value'"),
        ({"operator": ["exists"]}, "no column 'attribute'"),
        ({"attribute": ["a"], "operator": ["="], "integer": ["x"]}, "column 'integer'"),
    ],
)
def test_bad_rows_are_named(columns, message):
    with pytest.raises(DataError, match=message):
        encode_predicates(rows(**columns), Dictionary())


def test_every_bad_row_is_told():
    table = rows(attribute=["a", "a", "b"], operator=["?", "=", "="], integer=[1, 2, None])
    assert predicate_faults(table).keys() == {0, 2}
