"""Binding sets and their join: is there one joint substitution?

A relation lists what a predicate's variables may be, one tuple per possibility. Relations are joined on the variables they
share, smallest first, and rows are thrown out as soon as a constraint whose variables are all bound fails. Only whether a
substitution is left matters, but the join is bounded: beyond `limit` rows it is refused rather than let grow.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tamis.errors import OperatorError
from tamis.model.predicate import Constraint
from tamis.model.values import Scalar
from tamis.operators.constraints import constraint_holds

Row: TypeAlias = tuple[Scalar, ...]
Signed: TypeAlias = tuple[Constraint, bool]  # (constraint, negated)


@dataclass(frozen=True, slots=True)
class Relation:
    """What the variables `names` may be together; `excluded` lists what they may not be."""

    names: tuple[str, ...]
    rows: Sequence[Row]
    excluded: bool = False


class TooManyBindings(OperatorError):
    """A join grew beyond its limit."""


def key(row: Iterable[Scalar]) -> tuple[object, ...]:
    """A row as a hashable key that keeps `true` and 1 apart."""
    return tuple((isinstance(v, bool), v) for v in row)


def substitution(
    relations: Iterable[Relation], constraints: Iterable[Signed], limit: int = 10_000
) -> dict[str, Scalar] | None:
    """One substitution that every relation and constraint allows, or None."""
    given = list(relations)
    pending = list(constraints)
    joined = Relation((), [()])
    for relation in sorted((r for r in given if not r.excluded), key=lambda r: len(r.rows)):
        joined = join(joined, relation, limit)
        joined, pending = sieve(joined, pending)
        if not joined.rows:
            return None
    for relation in (r for r in given if r.excluded):
        joined = exclude(joined, relation)
    joined, _ = sieve(joined, pending)
    return dict(zip(joined.names, joined.rows[0], strict=True)) if joined.rows else None


def join(left: Relation, right: Relation, limit: int) -> Relation:
    """The natural join on shared names."""
    shared = [n for n in right.names if n in left.names]
    fresh = [i for i, n in enumerate(right.names) if n not in left.names]
    at_left = [left.names.index(n) for n in shared]
    at_right = [right.names.index(n) for n in shared]
    index: dict[tuple[object, ...], list[Row]] = {}
    for row in right.rows:
        index.setdefault(key(row[i] for i in at_right), []).append(tuple(row[i] for i in fresh))
    rows: list[Row] = []
    for row in left.rows:
        for more in index.get(key(row[i] for i in at_left), ()):
            rows.append(row + more)
            if len(rows) > limit:
                raise TooManyBindings(f"joining the bindings of a condition gives more than bindings = {limit:,} rows")
    return Relation(left.names + tuple(right.names[i] for i in fresh), rows)


def exclude(left: Relation, right: Relation) -> Relation:
    """The rows of `left` that `right` does not allow; its names are all bound in `left`."""
    at = [left.names.index(n) for n in right.names]
    banned = {key(row) for row in right.rows}
    return Relation(left.names, [row for row in left.rows if key(row[i] for i in at) not in banned])


def sieve(relation: Relation, constraints: list[Signed]) -> tuple[Relation, list[Signed]]:
    """Rows that satisfy the constraints decidable already, and the constraints that are not."""
    ready = [c for c in constraints if c[0].variables <= set(relation.names)]
    if not ready:
        return relation, constraints
    rows = []
    for row in relation.rows:
        bound = dict(zip(relation.names, row, strict=True))
        if all(constraint_holds(c, bound) is (not negated) for c, negated in ready):
            rows.append(row)
    return Relation(relation.names, rows), [c for c in constraints if c not in ready]
