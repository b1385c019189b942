"""Atoms: which are the same, and which are well formed."""

import pytest

from tamis.errors import FilterError
from tamis.model.check import check_predicate, complaint
from tamis.model.predicate import Arithmetic, Constraint, Op, OperatorPredicate, Predicate, Variable
from tamis.model.subscription import And, Constant, Not, Or, atoms

X, Y = Variable("x"), Variable("y")


def test_predicates_with_equal_parts_are_equal_and_hash_alike():
    one, two = Predicate("a", Op.EQ, (1,)), Predicate("a", Op.EQ, (1.0,))
    assert one == two
    assert hash(one) == hash(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (Predicate("a", Op.EQ, (1,)), Predicate("a", Op.EQ, (True,))),
        (Predicate("a", Op.IN, (0, "x")), Predicate("a", Op.IN, (False, "x"))),
        (Predicate("a", Op.EQ, (1,)), Predicate("a", Op.EQ, ("1",))),
        (Predicate("a", Op.EQ, ("x",)), Predicate("a", Op.EQ, ("x",), nocase=True)),
        (OperatorPredicate("f", (1,)), OperatorPredicate("f", (True,))),
        (OperatorPredicate("f", ("x",)), OperatorPredicate("f", (X,))),
        (Constraint(Op.EQ, X, 1), Constraint(Op.EQ, X, True)),
        (Constraint(Op.EQ, 0, X), Constraint(Op.EQ, False, X)),
    ],
)
def test_different_atoms_are_kept_apart(one, two):
    assert one != two
    assert len({one, two}) == 2


def test_equal_constraints_hash_alike():
    one = Constraint(Op.GT, Y, Arithmetic("*", 2, X))
    assert one == Constraint(Op.GT, Y, Arithmetic("*", 2.0, X))
    assert hash(one) == hash(Constraint(Op.GT, Y, Arithmetic("*", 2.0, X)))


def test_variables_are_collected():
    assert OperatorPredicate("f", (X, 1, Y, "x")).variables == {"x", "y"}
    assert Constraint(Op.GT, Y, Arithmetic("*", 2, Arithmetic("+", X, 1))).variables == {"x", "y"}
    assert Constraint(Op.GT, 1, 2).variables == frozenset()


def test_variables_of_a_very_deep_term_are_collected():
    term: Arithmetic | Variable = X
    for _ in range(50_000):
        term = Arithmetic("+", term, 1)
    constraint = Constraint(Op.GT, term, 2)
    assert constraint.variables == {"x"}
    while isinstance(term, Arithmetic):  # taken apart from the outside, so that freeing it does not nest
        term = term.left  # type: ignore[assignment]


def test_atoms_are_listed_left_to_right():
    p, q, r = (Predicate(name, Op.EXISTS) for name in "pqr")
    assert list(atoms(And((Not(p), Or((Constant(True), q, And((r, p)))))))) == [p, q, r, p]


@pytest.mark.parametrize(
    "predicate",
    [
        Predicate("a", Op.EQ, (True,)),
        Predicate("a", Op.IN, (1, "x", True)),
        Predicate("a", Op.IN, (1, "x"), nocase=True),
        Predicate("a", Op.BETWEEN, (2, 1.5)),
        Predicate("a", Op.BETWEEN, ("x", "y"), nocase=True),
        Predicate("a", Op.EXISTS),
        Predicate("weird name", Op.LIKE, ("%",)),
        Predicate("a", Op.MATCHES, ("^a+$",), nocase=True),
    ],
)
def test_well_formed_predicates(predicate):
    assert complaint(predicate) is None
    assert check_predicate(predicate) is predicate


@pytest.mark.parametrize(
    ("predicate", "message", "value"),
    [
        (Predicate("", Op.EXISTS), "not empty", None),
        (Predicate("a\ud800", Op.EXISTS), "lone surrogate", None),
        (Predicate("a", Op.EQ, ()), "= takes 1 value, not 0", None),
        (Predicate("a", Op.LT, (1, 2)), "< takes 1 value, not 2", None),
        (Predicate("a", Op.BETWEEN, (1,)), "between takes 2 values, not 1", None),
        (Predicate("a", Op.IN, ()), "in takes 1 value", None),
        (Predicate("a", Op.EXISTS, (1,)), "exists takes 0 values, not 1", None),
        (Predicate("a", Op.EQ, (float("inf"),)), "not a finite number", None),
        (Predicate("a", Op.LT, (True,)), "have no order", 0),
        (Predicate("a", Op.BETWEEN, (1, False)), "have no order", 1),
        (Predicate("a", Op.BETWEEN, (1, "x")), "a number and a string", 1),
        (Predicate("a", Op.STARTS, (5,)), "starts with needs a string, not the number 5", 0),
        (Predicate("a", Op.EQ, (5,), nocase=True), "nocase is about strings", None),
        (Predicate("a", Op.EXISTS, (), nocase=True), "nocase is about strings", None),
        (Predicate("a", Op.MATCHES, ("(",)), "not an RE2 regular expression", 0),
    ],
)
def test_malformed_predicates(predicate, message, value):
    problem = complaint(predicate)
    assert problem is not None
    assert message in problem.message
    assert problem.value == value
    with pytest.raises(FilterError):
        check_predicate(predicate)
