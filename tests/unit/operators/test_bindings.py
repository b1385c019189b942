import itertools
import random

import pytest

from tamis.lang import parse
from tamis.model.predicate import Constraint
from tamis.operators.bindings import Relation, TooManyBindings, substitution
from tamis.operators.constraints import constraint_holds


def constraint(text: str) -> Constraint:
    parsed = parse(text)
    assert isinstance(parsed, Constraint)
    return parsed


def test_join_on_shared_variables():
    seen = Relation(("who", "place"), [("ann", "bronx"), ("bob", "queens"), ("cy", "queens")])
    age = Relation(("who", "age"), [("ann", 70), ("bob", 20), ("cy", 40)])
    found = substitution([seen, age], [(constraint("?place = 'queens'"), False), (constraint("?age > 30"), False)])
    assert found == {"who": "cy", "place": "queens", "age": 40}


def test_true_is_not_one():
    assert substitution([Relation(("x",), [(True,)]), Relation(("x",), [(1,)])], []) is None
    assert substitution([Relation(("x",), [(1.0,)]), Relation(("x",), [(1,)])], []) is not None


def test_excluded_rows():
    rows = Relation(("x", "y"), [(1, 2), (2, 2), (3, 4)])
    assert substitution([rows, Relation(("y",), [(2,)], excluded=True)], []) == {"x": 3, "y": 4}
    assert substitution([rows, Relation(("y",), [(2,), (4,)], excluded=True)], []) is None


def test_unknown_constraints_satisfy_neither_way():
    zero = Relation(("x",), [(0,)])
    assert substitution([zero], [(constraint("1 / ?x > 0"), False)]) is None
    assert substitution([zero], [(constraint("1 / ?x > 0"), True)]) is None


def test_limit_is_named():
    wide = [Relation((name,), [(i,) for i in range(100)]) for name in "xyz"]
    with pytest.raises(TooManyBindings, match="bindings = 5,000"):
        substitution(wide, [], 5_000)


def test_against_all_combinations():
    rng = random.Random(7)
    pool = [constraint(text) for text in ("?a < ?b", "?b + ?c > 4", "?a != ?c", "?c / ?a >= 1")]
    for _ in range(400):
        relations = []
        for _ in range(rng.randint(1, 3)):
            names = tuple(rng.sample("abc", rng.randint(1, 3)))
            rows = [tuple(rng.randint(0, 3) for _ in names) for _ in range(rng.randint(1, 5))]
            relations.append(Relation(names, rows))
        bound = sorted({n for r in relations for n in r.names})
        excluded_names = tuple(rng.sample(bound, 1))
        relations.append(Relation(excluded_names, [(rng.randint(0, 3),)], excluded=True))
        constraints = [(c, rng.random() < 0.3) for c in pool if c.variables <= set(bound) and rng.random() < 0.5]

        def allowed(values, relations=relations, constraints=constraints):
            for r in relations:
                if (tuple(values[n] for n in r.names) in r.rows) is r.excluded:
                    return False
            return all(constraint_holds(c, values) is (not negated) for c, negated in constraints)

        every = (dict(zip(bound, v, strict=True)) for v in itertools.product(range(4), repeat=len(bound)))
        found = substitution(relations, constraints)
        assert (found is not None) == any(allowed(v) for v in every)
        assert found is None or allowed(found)
