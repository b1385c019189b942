"""Conditions as text: minimal parentheses, correct quoting."""

import pytest

from tamis.lang.parse import parse
from tamis.lang.print import as_expression, show, show_dnf
from tamis.model.predicate import Op, Predicate
from tamis.model.subscription import And, Constant, Literal, Not, Or


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 and b = 2 or c = 3",
        "(a = 1 or b = 2) and c = 3",
        "(a = 1 and b = 2) and c = 3",
        "a = 1 or (b = 2 or c = 3)",
        "not (a = 1 and b = 2)",
        "not not a = 1",
        "not a in (1, 2)",
        "a not in (1, 2)",
        "a not between 1 and 2",
        "not a not like 'x%' nocase",
        "exists(a) and missing(`b c`)",
        "`and` = 'it''s' or `a``b` = '\"'",
        '`x\ny` = "a\\nb\\u0000"',
        "a = -1 and a = 1.5 and a = 1e+300 and a = true",
        "f(word, 'two words', 'and', ?x, -1, true)",
        "?y > 2 * ?z + 1 and ?y - (?z - 1) = 0 and (?y + 1) * 2 < 5 and ?x / (2 * ?y) > 0",
        "true and (false or a = 1)",
    ],
)
def test_text_in_its_shortest_form_comes_back_unchanged(text):
    assert show(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("((a == 1)) AND (b <> 2)", "a = 1 and b != 2"),
        ("(a = 1 and b = 2) or c = 3", "a = 1 and b = 2 or c = 3"),
        ("not (a = 1)", "not a = 1"),
        ("not (a like 'x')", "a not like 'x'"),
        ("(?x * 2) + 1 > (3)", "?x * 2 + 1 > 3"),
        ('a = "plain"', "a = 'plain'"),
        ("f('word')", "f(word)"),
    ],
)
def test_needless_signs_are_dropped(text, shorter):
    assert show(parse(text)) == shorter
    assert parse(shorter) == parse(text)


def test_a_normal_form_is_shown_as_the_condition_it_is():
    p, q = Predicate("p", Op.EQ, (1,)), Predicate("q", Op.LIKE, ("x",))
    assert show_dnf(((Literal(p), Literal(q, negated=True)), (Literal(q),))) == "p = 1 and q not like 'x' or q like 'x'"
    assert show_dnf(()) == "false"
    assert show_dnf(((),)) == "true"
    assert as_expression(((Literal(p),), ())) == Or((p, Constant(True)))
    assert as_expression(((Literal(p), Literal(p, True)),)) == And((p, Not(p)))
