import pytest

from tamis.errors import OperatorError
from tamis.model.predicate import OperatorPredicate, Variable
from tamis.operators.answer import Answer, interpret
from tamis.operators.registry import make_operator

X, Y = Variable("0"), Variable("1")


def of(arguments, returned, outputs=None, **settings):
    operator = make_operator("p", lambda event, *rest: None, outputs=outputs, **settings)
    return interpret(operator, OperatorPredicate("p", arguments), returned)


@pytest.mark.parametrize(
    ("arguments", "returned", "outputs", "expected"),
    [
        (("a",), True, None, Answer(True)),
        (("a",), False, None, Answer(False)),
        ((X,), False, None, Answer(False)),
        ((X,), [1, 2, 2], None, Answer(True, [(1,), (2,)])),
        ((X,), [], None, Answer(False, [])),
        ((X, "a", Y), [(1, 2), (3, 4)], None, Answer(True, [(1, 2), (3, 4)])),
        ((X, X), [1], None, Answer(True, [(1,)])),
        ((X,), 7, 1, Answer(True, [(7,)])),
        ((7,), 7, 1, Answer(True, [()])),
        ((8,), 7, 1, Answer(False, [])),
        ((1,), True, 1, Answer(False, [])),
        ((X,), None, 1, Answer(False, [])),
        ((X, Y), (1, 2), 2, Answer(True, [(1, 2)])),
        ((X, X), [(1, 2), (3, 3)], 2, Answer(True, [(3,)])),
        ((X, 2), [(1, 2), (3, 3)], 2, Answer(True, [(1,)])),
        ((X,), (n for n in (1, 2)), 1, Answer(True, [(1,), (2,)])),
    ],
)
def test_understood(arguments, returned, outputs, expected):
    assert of(arguments, returned, outputs) == expected


@pytest.mark.parametrize(
    ("arguments", "returned", "outputs", "told"),
    [
        (("a",), 1, None, "answered int, not true or false"),
        (("a",), None, None, "answered NoneType"),
        ((X,), True, None, "no values"),
        ((X,), object(), None, "answered object"),
        ((X,), [(1, 2)], None, "2 values where 1"),
        ((X,), [object()], 1, "object is not a scalar"),
        ((X,), float("nan"), 1, "not a finite number"),
        ((X,), range(100), 1, "more rows than bindings = 50"),
    ],
)
def test_refused(arguments, returned, outputs, told):
    with pytest.raises(OperatorError, match=told):
        of(arguments, returned, outputs, bindings=50)
