"""The reference semantics, rule by rule."""

import pytest

from tamis.errors import OperatorError, ParseError
from tamis.model.evaluate import evaluate, holds, like, matches, matches_dnf, regex
from tamis.model.event import normalise
from tamis.model.explain import trace
from tamis.model.predicate import ORDER_OPS, PATTERN_OPS, Constraint, Op, OperatorPredicate, Predicate, Variable
from tamis.model.subscription import And, Constant, Literal, Not, Or

T, F, U = True, False, None


def predicate(op, *values, nocase=False):
    return Predicate("a", op, values, nocase)


def truth(op, *values, on, nocase=False):
    return holds(predicate(op, *values, nocase=nocase), normalise({"a": on}))


@pytest.mark.parametrize("op", [op for op in Op if op not in (Op.EXISTS, Op.MISSING)])
def test_a_predicate_on_an_absent_attribute_is_unknown_and_so_is_its_negation(op):
    atom = predicate(op, "x", "x")
    for event in map(normalise, ({}, {"b": "x"}, {"a": None}, {"a": []})):
        assert holds(atom, event) is None
        assert evaluate(Not(atom), event) is None
        assert not matches(atom, event)
        assert not matches(Not(atom), event)


def test_exists_and_missing_are_never_unknown():
    for event, present in (
        ({"a": 0}, True),
        ({"a": ""}, True),
        ({"a": False}, True),
        ({}, False),
        ({"a": None}, False),
    ):
        assert holds(Predicate("a", Op.EXISTS), normalise(event)) is present
        assert holds(Predicate("a", Op.MISSING), normalise(event)) is not present


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (T, T, T, T), (T, F, F, T), (T, U, U, T),
        (F, T, F, T), (F, F, F, F), (F, U, F, U),
        (U, T, U, T), (U, F, F, U), (U, U, U, U),
    ],
)  # fmt: skip
def test_three_valued_logic(left, right, both, either):
    known = {"t": T, "f": F, "u": U}
    name = {T: "t", F: "f", U: "u"}
    atoms = tuple(Predicate(name[value], Op.EXISTS) for value in (left, right))

    def decide(atom, event):
        return known[atom.attribute]

    assert evaluate(And(atoms), {}, decide) is both
    assert evaluate(Or(atoms), {}, decide) is either
    assert evaluate(Not(atoms[0]), {}, decide) is (None if left is None else not left)


def test_constants():
    assert matches(Constant(True), {})
    assert not matches(Constant(False), {})
    assert matches(Not(Constant(False)), {})


@pytest.mark.parametrize(
    ("op", "constant", "on", "outcome"),
    [
        (Op.EQ, 5, 5.0, T), (Op.EQ, 5, "5", F), (Op.EQ, 1, True, F), (Op.EQ, 0.0, -0.0, T),
        (Op.EQ, 2**53 + 1, float(2**53), F), (Op.EQ, True, True, T),
        (Op.NE, 5, 6, T), (Op.NE, 5, 5.0, F), (Op.NE, 5, "5", T), (Op.NE, 1, True, T),
        (Op.LT, 5, 4.5, T), (Op.LT, 5, 5, F), (Op.LE, 5, 5.0, T), (Op.LE, 5, 5.1, F),
        (Op.GT, 5, 6, T), (Op.GT, 5, 5, F), (Op.GE, 5, 5, T), (Op.GE, 5, 4, F),
        (Op.LT, 2.0**53, 2**53 - 1, T), (Op.GT, 2.0**53, 2**53 + 1, T),
        (Op.LT, "b", "a", T), (Op.LT, "b", "B", T), (Op.GT, "z", "é", T), (Op.GE, "", "", T),
    ],
)  # fmt: skip
def test_comparisons(op, constant, on, outcome):
    assert truth(op, constant, on=on) is outcome


@pytest.mark.parametrize("op", sorted(ORDER_OPS))
def test_values_of_another_kind_are_in_no_order_and_so_are_booleans(op):
    assert truth(op, 5, 5, on="5") is False
    assert truth(op, "5", "5", on=5) is False
    assert truth(op, 0, 1, on=True) is False
    assert truth(op, True, True, on=True) is False
    assert evaluate(Not(predicate(op, 5, 5)), normalise({"a": "x"})) is True  # false, not unknown


def test_between_includes_both_ends():
    assert [truth(Op.BETWEEN, 2, 4, on=v) for v in (1, 2, 3.5, 4, 4.1)] == [F, T, T, T, F]
    assert truth(Op.BETWEEN, "b", "d", on="cat") is True
    assert truth(Op.BETWEEN, 4, 2, on=3) is False


def test_in_and_not_in():
    assert truth(Op.IN, 1, "x", on=1.0) is True
    assert truth(Op.IN, 1, "x", on=True) is False
    assert truth(Op.NOT_IN, 1, "x", on=2) is True
    assert truth(Op.NOT_IN, 1, "x", on="x") is False
    assert truth(Op.NOT_IN, 1, on="1") is True


@pytest.mark.parametrize(
    ("op", "constant", "on", "outcome"),
    [
        (Op.STARTS, "ab", "abc", T), (Op.STARTS, "ab", "ab", T), (Op.STARTS, "", "x", T), (Op.STARTS, "bc", "abc", F),
        (Op.ENDS, "bc", "abc", T), (Op.ENDS, "ab", "abc", F),
        (Op.CONTAINS, "b", "abc", T), (Op.CONTAINS, "ca", "abc", F),
        (Op.LIKE, "a%c", "abbc", T), (Op.LIKE, "a_c", "abbc", F),
        (Op.MATCHES, "b+", "abbc", T), (Op.MATCHES, "^b", "abbc", F), (Op.MATCHES, "a.c", "a\nc", F),
    ],
)  # fmt: skip
def test_patterns(op, constant, on, outcome):
    assert truth(op, constant, on=on) is outcome


@pytest.mark.parametrize("op", sorted(PATTERN_OPS))
def test_patterns_hold_for_strings_only(op):
    assert truth(op, "", on=5) is False
    assert truth(op, "", on=True) is False


@pytest.mark.parametrize(
    ("pattern", "value", "outcome"),
    [
        ("", "", T), ("", "a", F), ("%", "", T), ("%", "a\nb", T), ("_", "", F), ("_", "𝒳", T), ("_", "ab", F),
        ("a%", "a", T), ("%a", "ba", T), ("%a%b%", "xaxbx", T), ("%a%b%", "xbxax", F), ("%ab", "aab", T),
        ("a_%c", "abc", T), ("a_%c", "ac", F), ("%%", "x", T), ("a.c", "abc", F), ("A", "a", F),
        ("a\\%", "a%", T), ("a\\%", "ab", F), ("\\_", "_", T), ("\\_", "x", F), ("\\\\", "\\", T), ("a\\", "a\\", T),
        ("\\a", "a", T), ("%" * 30 + "b", "a" * 60, F),
    ],
)  # fmt: skip
def test_like(pattern, value, outcome):
    assert like(value, pattern) is outcome


def test_nocase_folds_both_sides():
    assert truth(Op.EQ, "SONY", on="sony", nocase=True) is True
    assert truth(Op.EQ, "STRASSE", on="straße", nocase=True) is True
    assert truth(Op.NE, "SONY", on="sony", nocase=True) is False
    assert truth(Op.IN, "A", 1, on="a", nocase=True) is True
    assert truth(Op.IN, "A", 1, on=1, nocase=True) is True
    assert truth(Op.NOT_IN, "A", on="a", nocase=True) is False
    assert truth(Op.LT, "B", on="a", nocase=True) is True
    assert truth(Op.BETWEEN, "A", "C", on="b", nocase=True) is True
    assert truth(Op.STARTS, "SO", on="sony", nocase=True) is True
    assert truth(Op.ENDS, "NY", on="sony", nocase=True) is True
    assert truth(Op.CONTAINS, "On", on="sony", nocase=True) is True
    assert truth(Op.LIKE, "S%Y", on="sony", nocase=True) is True
    assert truth(Op.MATCHES, "^S", on="sony", nocase=True) is True
    assert truth(Op.MATCHES, "^S", on="sony") is False


def test_a_list_satisfies_a_predicate_if_any_element_does():
    assert truth(Op.EQ, 5, on=[4, 5]) is True
    assert truth(Op.EQ, 5, on=["5", 6]) is False
    assert truth(Op.NE, 5, on=[5, 6]) is True
    assert truth(Op.NE, 5, on=[5, 5]) is False
    assert truth(Op.NOT_IN, 5, on=[5, 6]) is True
    assert truth(Op.LT, 5, on=["x", 4]) is True


def test_on_a_list_a_negation_is_more_than_the_opposite_operator():
    event = normalise({"a": [5, 6]})
    assert matches(predicate(Op.NE, 5), event)
    assert not matches(Not(predicate(Op.EQ, 5)), event)


def test_several_predicates_on_one_attribute_may_be_met_by_different_elements():
    both = And((predicate(Op.GT, 20), predicate(Op.LT, 10)))
    assert matches(both, normalise({"a": [5, 30]}))
    assert not matches(both, normalise({"a": [15]}))


def test_the_normal_form_needs_one_conjunction_with_every_literal_true():
    p, q = Predicate("p", Op.EQ, (1,)), Predicate("q", Op.EQ, (1,))
    dnf = ((Literal(p), Literal(q, negated=True)), (Literal(q),))
    assert matches_dnf(dnf, normalise({"p": 1, "q": 2}))
    assert matches_dnf(dnf, normalise({"q": 1}))
    assert not matches_dnf(dnf, normalise({"p": 1}))  # `not q` is unknown
    assert not matches_dnf((), normalise({}))
    assert matches_dnf(((),), normalise({}))


def test_operators_and_constraints_need_more_than_plain_evaluation():
    for atom in (OperatorPredicate("f"), Constraint(Op.GT, Variable("x"), 1)):
        with pytest.raises(OperatorError, match="operators or variables"):
            evaluate(atom, {})
        assert evaluate(atom, {}, lambda atom, event: True) is True


def test_a_bad_regular_expression_is_a_parse_error_that_quotes_re2():
    with pytest.raises(ParseError, match=r"not an RE2 regular expression: missing \)"):
        regex("(a", False)
    with pytest.raises(ParseError, match="not an RE2 regular expression"):
        regex(r"(a)\1", False)  # back references are not RE2: matching stays linear


def test_a_trace_shows_every_node_with_the_values_it_saw():
    p, q, r = Predicate("p", Op.GT, (1,)), Predicate("q", Op.EQ, ("x",)), Predicate("r", Op.EXISTS)
    seen = trace(And((Or((p, q)), Not(r))), normalise({"p": [0, 2], "r": True}))
    assert seen.outcome is False
    either, negated = seen.children
    assert either.outcome is True
    assert [(part.expression, part.outcome, part.values) for part in either.children] == [(p, T, (0, 2)), (q, U, None)]
    assert negated.outcome is False
    assert negated.children[0].values == (True,)
