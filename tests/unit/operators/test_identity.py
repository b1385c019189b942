from tamis.model.predicate import OperatorPredicate, Variable
from tamis.operators.identity import canonical, named, shown


def p(*arguments):
    return OperatorPredicate("p", tuple(Variable(a[1:]) if str(a).startswith("?") else a for a in arguments))


def test_variables_unify():
    assert canonical(p("?x", "?y")).predicate == canonical(p("?a", "?b")).predicate
    assert canonical(p("?x", "?y")).names == ("x", "y")
    assert canonical(p("?b", "?a")).names == ("b", "a")


def test_repeated_variables_and_constants_matter():
    same = [canonical(p("?x", "?x")), canonical(p("?x", "?y")), canonical(p("?x", 1)), canonical(p("?x", True))]
    assert len({c.predicate for c in same}) == 4
    assert canonical(p("?x", 1, "?x")).predicate == canonical(p("?z", 1, "?z")).predicate
    assert canonical(p("?x", 1, "?y")).predicate != canonical(p("?x", 1, "?x")).predicate


def test_a_string_that_looks_like_a_number_is_another_constant():
    assert canonical(p("1")).predicate != canonical(p(1)).predicate


def test_shown():
    assert shown(p("?x", 1.5, True)) == "p(?x, 1.5, true)"
    assert shown(OperatorPredicate("q", ("it's",))) == "q('it''s')"


def test_named_undoes_canonical():
    for one in (p("?x", 1, "?y", "?x"), p(), p("?b", "?a")):
        same = canonical(one)
        assert named(same.predicate, same.names) == one
