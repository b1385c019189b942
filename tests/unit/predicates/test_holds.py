import numpy as np
import pytest

from tamis.encoding.subscriptions import ALL, ALL_SET, IN, IN_SET, MISSING, NONE, NONE_SET, OUT, OUT_SET
from tamis.predicates.holds import predicate_holds

SETS = np.array([-5, 3, 4, 9], np.int64)
MEANING = {
    IN: lambda values, inside: any(map(inside, values)),
    OUT: lambda values, inside: any(not inside(v) for v in values),
    NONE: lambda values, inside: bool(values) and not any(map(inside, values)),
    ALL: lambda values, inside: bool(values) and all(map(inside, values)),
}
SET_FORMS = {IN_SET: IN, OUT_SET: OUT, NONE_SET: NONE, ALL_SET: ALL}


@pytest.mark.parametrize("values", [[], [3], [5], [3, 4], [3, 5], [10, -6], [9, 9, 2]])
@pytest.mark.parametrize("bounds", [(3, 4), (3, 3), (0, 3), (5, 2)])
def test_every_code_means_what_its_comment_says(values, bounds):
    lo, hi = bounds
    keys = np.array(values, np.int64)
    for code, meaning in MEANING.items():
        expected = meaning(values, lambda v: lo <= v <= hi)
        assert predicate_holds(code, lo, hi, SETS, keys, 0, len(keys)) == expected
    for code, plain in SET_FORMS.items():
        members = set(SETS[1:3].tolist())
        assert predicate_holds(code, 1, 3, SETS, keys, 0, len(keys)) == MEANING[plain](values, members.__contains__)
    assert predicate_holds(MISSING, 0, 0, SETS, keys, 0, len(keys)) == (not values)
