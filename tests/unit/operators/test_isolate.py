import re

import pytest
from tests.unit.operators import misbehaving

from tamis.errors import OperatorError
from tamis.model.predicate import OperatorPredicate, Variable
from tamis.operators.isolate import Isolated
from tamis.operators.registry import make_operator

EVENT = {"n": (5,)}


def isolated(name, **settings):
    function = getattr(misbehaving, name)
    return Isolated(make_operator(name, function, isolate=True, **{"seconds": 0.5, "megabytes": 256} | settings))


def evaluate(worker, *arguments):
    return worker.evaluate(EVENT, OperatorPredicate(worker.operator.name, arguments))


def test_answers_cross_the_border():
    worker = isolated("count", outputs=1, seconds=5)
    assert evaluate(worker, Variable("0")).rows == [(5,)]
    assert evaluate(worker, 5).truth is True
    assert evaluate(worker, 6).truth is False
    assert worker.evaluate({}, OperatorPredicate("count", (6,))).truth is None
    assert worker.evaluate({}, OperatorPredicate("count", (6,))).problem == "", "an absent attribute is nobody's fault"
    worker.close()
    chatty = isolated("chatty", seconds=5)
    assert evaluate(chatty).truth is True
    chatty.close()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("raises", "ValueError: no good"),
        ("sleeps", "longer than seconds = 0.5"),
        ("spins", "longer than seconds = 0.5"),
        ("spawns", "longer than seconds = 0.5"),
        ("allocates", "MemoryError"),
        ("exits", r"process ended \(exit code 3\)"),
        ("leaves", "SystemExit: 4"),
        ("crashes", r"process ended \(signal 6\)"),
        ("wrong_type", "answered dict, not true or false"),
        ("floods", "answered range, not true or false"),
    ],
)
def test_misbehaviour_is_an_unknown_with_a_reason(name, told):
    worker = isolated(name)
    worker.start()
    answer = evaluate(worker)  # that it returns at all is half of the test
    assert answer.truth is None
    assert re.search(told, answer.problem)
    worker.close()


def test_a_dead_worker_is_replaced():
    worker = isolated("sometimes", seconds=5)
    assert evaluate(worker).truth is True
    first = worker._process
    assert first is not None
    first.kill()
    first.wait()
    assert evaluate(worker).truth is True
    assert worker._process is not first
    worker.close()


def test_only_importable_functions():
    with pytest.raises(OperatorError, match="must stand at the top of a module"):
        Isolated(make_operator("x", lambda event: True, isolate=True))


def test_a_worker_that_cannot_load_says_why():
    worker = isolated("fine")
    worker.order.qualname = "no_such_function"
    assert "could not load it" in evaluate(worker, 1).problem
