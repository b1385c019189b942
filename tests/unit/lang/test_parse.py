"""The language, construct by construct, and what is said of text that is not in it."""

import pytest

from tamis.errors import FilterError, LimitError, ParseError
from tamis.lang.parse import parse
from tamis.lang.size import measure
from tamis.model.limits import Limits
from tamis.model.predicate import Arithmetic, Constraint, Op, OperatorPredicate, Predicate, Variable
from tamis.model.subscription import And, Constant, Not, Or

A, B, C = (Predicate(name, Op.EQ, (1,)) for name in "abc")
X, Y, Z = map(Variable, "xyz")


def p(op, *values, name="a", nocase=False):
    return Predicate(name, op, values, nocase)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a = 5", p(Op.EQ, 5)), ("a == 5", p(Op.EQ, 5)), ("a != 5", p(Op.NE, 5)), ("a <> 5", p(Op.NE, 5)),
        ("a<5", p(Op.LT, 5)), ("a<=5", p(Op.LE, 5)), ("a>5", p(Op.GT, 5)), ("a>=5", p(Op.GE, 5)),
        ("a between 1 and 2", p(Op.BETWEEN, 1, 2)), ("a not between 1 and 2", Not(p(Op.BETWEEN, 1, 2))),
        ("a in (1, 'x', true)", p(Op.IN, 1, "x", True)), ("a not in (1)", p(Op.NOT_IN, 1)), ("not a in (1)", Not(p(Op.IN, 1))),
        ("exists(a)", p(Op.EXISTS)), ("missing ( a )", p(Op.MISSING)), ("not exists(a)", Not(p(Op.EXISTS))),
        ("a starts with 'x'", p(Op.STARTS, "x")), ("a  Starts \n With 'x'", p(Op.STARTS, "x")),
        ("a not starts with 'x'", Not(p(Op.STARTS, "x"))),
        ("a ends with 'x'", p(Op.ENDS, "x")), ("a contains 'x'", p(Op.CONTAINS, "x")), ("a like 'x%'", p(Op.LIKE, "x%")),
        ("a not like 'x%'", Not(p(Op.LIKE, "x%"))), ("a matches '^x'", p(Op.MATCHES, "^x")),
        ("a not matches '^x'", Not(p(Op.MATCHES, "^x"))),
        ("a = 'x' nocase", p(Op.EQ, "x", nocase=True)), ("a in ('x', 1) nocase", p(Op.IN, "x", 1, nocase=True)),
        ("a between 'a' and 'b' nocase", p(Op.BETWEEN, "a", "b", nocase=True)),
        ("a not like 'x' NOCASE", Not(p(Op.LIKE, "x", nocase=True))),
        ("true", Constant(True)), ("FALSE", Constant(False)), ("a = true", p(Op.EQ, True)),
    ],
)  # fmt: skip
def test_predicates(text, condition):
    assert parse(text) == condition


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a = 1 and b = 1 and c = 1", And((A, B, C))),
        ("a = 1 or b = 1 or c = 1", Or((A, B, C))),
        ("a = 1 or b = 1 and c = 1", Or((A, And((B, C))))),
        ("(a = 1 or b = 1) and c = 1", And((Or((A, B)), C))),
        ("not a = 1 and b = 1", And((Not(A), B))),
        ("not (a = 1 and b = 1)", Not(And((A, B)))),
        ("not not a = 1", Not(Not(A))),
        ("(((a = 1)))", A),
        ("(a = 1 and b = 1) and c = 1", And((And((A, B)), C))),
        ("a = 1 AND b = 1 Or c = 1", Or((And((A, B)), C))),
        ("a between 1 and 2 and b = 1", And((p(Op.BETWEEN, 1, 2), B))),
        ("true and (false or a = 1)", And((Constant(True), Or((Constant(False), A))))),
        ("\n a = 1\tand\u00a0b = 1 ", And((A, B))),
    ],
)
def test_connectives(text, condition):
    assert parse(text) == condition


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("-5", -5), ("- 5", -5), ("007", 7), ("5.0", 5.0), ("-2.5", -2.5), ("1e3", 1000.0), ("1.5E-3", 0.0015),
        ("2e+2", 200.0), ("-0.0", 0.0), ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)),
        ("1e-400", 0.0), ("true", True), ("False", False),
        ("''", ""), ("'it''s'", "it's"), ("'a\\n'", "a\\n"), ("'a\nb'", "a\nb"), ("'say \"x\"'", 'say "x"'),
        ('""', ""), ('"it\'s"', "it's"), (r'"a\n\t\r\\\"\/\0"', 'a\n\t\r\\"/\0'),
        (r'"\x41\u00e9\U0001d4b3"', "Aé𝒳"), (r'"\ud835\udcb3"', "𝒳"), ("'日本'", "日本"),
    ],
)  # fmt: skip
def test_constants(text, value):
    parsed = parse(f"a = {text}")
    assert isinstance(parsed, Predicate)
    assert parsed.values == (value,)
    assert type(parsed.values[0]) is type(value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a", "a"), ("_x1", "_x1"),
        ("camera.lens.zoom", "camera.lens.zoom"), ("a.0", "a.0"), ("größe", "größe"), ("名前", "名前"),
        ("`weird name`", "weird name"), ("`and`", "and"), ("`a``b`", "a`b"), ("`1`", "1"), ("`'`", "'"), ("`a\nb`", "a\nb"),
        ("android", "android"), ("order", "order"), ("inside", "inside"), ("nothing", "nothing"), ("in.stock", "in.stock"),
        ("true.x", "true.x"), ("ends", "ends"), ("contains", "contains"), ("nocase", "nocase"),
    ],
)  # fmt: skip
def test_names(text, name):
    assert parse(f"{text} = 1") == p(Op.EQ, 1, name=name)
    assert parse(f"exists({text})") == p(Op.EXISTS, name=name)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("locIn(Bronx)", OperatorPredicate("locIn", ("Bronx",))),
        ("f()", OperatorPredicate("f")),
        ("f(?x, 'two words', -3, 2.5, true, a.b, `odd word`)",
         OperatorPredicate("f", (X, "two words", -3, 2.5, True, "a.b", "odd word"))),
        ("`odd name`(?x)", OperatorPredicate("odd name", (X,))),
        ("?x > 50", Constraint(Op.GT, X, 50)),
        ("50 < ?x", Constraint(Op.LT, 50, X)),
        ("?y > 2*?z", Constraint(Op.GT, Y, Arithmetic("*", 2, Z))),
        ("?y > 2 * ?z + 1", Constraint(Op.GT, Y, Arithmetic("+", Arithmetic("*", 2, Z), 1))),
        ("?y - 1 - 2 = 0", Constraint(Op.EQ, Arithmetic("-", Arithmetic("-", Y, 1), 2), 0)),
        ("?y-1 = -1", Constraint(Op.EQ, Arithmetic("-", Y, 1), -1)),
        ("?y - -1 = 0", Constraint(Op.EQ, Arithmetic("-", Y, -1), 0)),
        ("(?x + 1) * ?y / 2 != 0",
         Constraint(Op.NE, Arithmetic("/", Arithmetic("*", Arithmetic("+", X, 1), Y), 2), 0)),
        ("(?x) = ((1))", Constraint(Op.EQ, X, 1)),
        ("?x = 'text'", Constraint(Op.EQ, X, "text")),
        ("'text' = ?x", Constraint(Op.EQ, "text", X)),
        ("true = ?x", Constraint(Op.EQ, True, X)),
        ("locIn(Bronx) and pedestrianCount(?ped) and (?ped > 250)",
         And((OperatorPredicate("locIn", ("Bronx",)), OperatorPredicate("pedestrianCount", (Variable("ped"),)),
              Constraint(Op.GT, Variable("ped"), 250)))),
    ],
)  # fmt: skip
def test_operators_and_constraints(text, condition):
    assert parse(text) == condition


@pytest.mark.parametrize(
    ("text", "column", "width", "message"),
    [
        ("", 1, 1, "expected a condition such as price < 300, found the end of the filter"),
        ("price", 6, 1, "expected an operator (=, !=, <, <=, >, >=, between, in, like, starts with, …), found the end"),
        ("price <", 8, 1, "expected a value (a number, 'text', true or false), found the end of the filter"),
        ("brand lik 'x'", 7, 3, "found `lik`; did you mean 'like'?"),
        ("brand containz 'x'", 7, 8, "; did you mean 'contains'?"),
        ("a = 1 adn b = 2", 7, 3, "expected `and`, `or` or the end of the filter, found `adn`; did you mean 'and'?"),
        ("a = 'x' nocas", 9, 5, "; did you mean 'nocase'?"),
        ("a = b", 5, 1, "an attribute is not compared with another attribute; if this is text, quote it: 'b'"),
        ("a in (x)", 7, 1, "if this is text, quote it: 'x'"),
        ("5 < price", 5, 5, "an attribute stands on the left and is compared with constants"),
        ("a > ?x", 5, 2, "an attribute is compared with constants, not with variables"),
        ("1 < 2", 3, 1, "a comparison needs an attribute on its left or a variable"),
        ("(a = 1", 7, 1, "expected `and`, `or` or `)`, found the end of the filter"),
        ("a = 1)", 6, 1, "expected `and`, `or` or the end of the filter, found `)`"),
        ("a = 1 && b = 2", 7, 2, "found `&&`; write `and`"),
        ("a = 1 || b = 2", 7, 2, "found `||`; write `or`"),
        ("!a = 1", 1, 1, "write `not`"),
        ("a = null", 5, 4, "absence is asked with missing(name)"),
        ("a is null", 3, 2, "write exists(name) or missing(name)"),
        ("a startswith 'x'", 3, 10, "write `starts with`"),
        ("exists a", 8, 1, "expected `(`"),
        ("user-id = 5", 5, 1, "goes into `backquotes`"),
        ("in = 5", 1, 2, "`in` is a word of the language: as a name it goes into `backquotes`"),
        ("a = 'abc", 5, 1, "the quote ' is never closed"),
        ('a = "abc', 5, 1, 'the quote " is never closed'),
        ("`abc = 1", 1, 1, "the quote ` is never closed"),
        ("a = 'it's'", 9, 1, "a quote inside single quotes is doubled"),
        ("a = .5", 5, 1, "a number has digits on both sides of its point"),
        ("a in ()", 7, 1, "expected a value"),
        ("a in (1 2)", 9, 1, "expected a comma or `)`, found `2`"),
        ("a between 1 or 2", 13, 2, "expected `and`, found `or`"),
        ("f(a b)", 5, 1, "expected a comma or `)`"),
        ("?x 5", 4, 1, "expected a comparison (=, !=, <, <=, >, >=), found `5`"),
        ("@", 1, 1, "found `@`"),
        ("a = 99999999999999999999", 5, 20, "does not fit in 64 bits"),
        ("a = -9223372036854775809", 5, 20, "does not fit in 64 bits"),
        ("a = 1e999", 5, 5, "inf is not a finite number"),
        ("a = " + "9" * 500, 5, 96, "does not fit in 64 bits"),
        ('a = "\\q"', 5, 4, "unknown escape \\q"),
        ('a = "\\ud800"', 5, 8, "lone surrogate"),
        ("a = '\ud800'", 5, 3, "lone surrogate"),
        ("`\udc00` = 1", 1, 3, "lone surrogate"),
        ("a < true", 5, 4, "true and false have no order"),
        ("a between 1 and 'x'", 17, 3, "between needs two values of one kind"),
        ("a starts with 5", 15, 1, "starts with needs a string, not the number 5"),
        ("a = 5 nocase", 5, 8, "nocase is about strings"),
        ("a matches '(x'", 11, 4, "not an RE2 regular expression: missing )"),
        ("a = 1 and b matches '[' or true", 21, 3, "not an RE2 regular expression: missing ]"),
    ],
)
def test_faults_are_located_and_explained(text, column, width, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    assert message in error.message
    assert (error.line, error.column) == (1, column)
    assert str(error).count("^") == width


def test_the_caret_stands_under_the_fault_on_its_line():
    with pytest.raises(ParseError) as caught:
        parse("price < 300 and\n  brand lik 'Sony'\n  or true")
    assert str(caught.value).splitlines()[1:] == ["    brand lik 'Sony'", "          ^^^"]
    assert (caught.value.line, caught.value.column) == (2, 9)


@pytest.mark.parametrize(
    "text", ["a @", "a = 1 and", "(", "f(?", "a in (1,", "?x +", "a not", "exists", "?x > (1 + 2", "a b"]
)
def test_no_token_names_leak_into_messages(text):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert not any(word in caught.value.message for word in ("_LPAR", "CMP", "ANON", "$END", "NAME", "Token"))


@pytest.mark.parametrize("thing", [None, 5, b"a = 1", ["a = 1"]])
def test_a_filter_is_text(thing):
    with pytest.raises(FilterError, match="a filter is text, not "):
        parse(thing)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("a = '" + "x" * 4096 + "'", "filter_bytes = 4,096"),
        ("a = '" + "é" * 2048 + "'", "filter_bytes = 4,096"),
        (" and ".join(["a = 1"] * 65), "predicates = 64 is exceeded: found 65"),
        ("not " * 16 + "a = 1", "depth = 16 is exceeded: found 17"),
        ("not " * 1000 + "a = 1", "depth = 16 is exceeded: found 1,001"),
        ("?x" + " + 1" * 900 + " > 2", "depth = 16"),
    ],
)
def test_limits_are_named(text, limit):
    with pytest.raises(LimitError, match=limit):
        parse(text)


def test_limits_can_be_set():
    assert measure(parse("not " * 16 + "a = 1", Limits(depth=17))) == (1, 17)
    with pytest.raises(LimitError, match="predicates = 1 "):
        parse("a = 1 or b = 1", Limits(predicates=1))


def test_filters_at_the_limits_are_taken():
    assert measure(parse(" and ".join(["a = 1"] * 64))) == (64, 2)
    assert measure(parse("not " * 15 + "a = 1")) == (1, 16)
    assert parse("a = '" + "x" * 4090 + "'") == p(Op.EQ, "x" * 4090)


def test_deep_parentheses_do_not_count_and_do_not_overflow():
    assert parse("(" * 2000 + "a = 1" + ")" * 2000) == A
    with pytest.raises(ParseError):
        parse("(" * 4000)
    assert parse("(" * 20_000 + "a = 1" + ")" * 20_000, Limits(filter_bytes=1 << 20)) == A
    with pytest.raises(LimitError, match="depth"):
        parse("not " * 20_000 + "a = 1", Limits(filter_bytes=1 << 20))
