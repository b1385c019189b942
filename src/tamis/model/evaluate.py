"""The meaning of a condition, in plain Python. Every engine must agree with this file.

Three-valued logic (Kleene's, as in SQL): a predicate on an absent attribute is unknown (None), and unknown never matches.
A predicate on a present attribute holds if *any* of its values satisfies it. A value of another kind than the constant's
equals nothing and is in no order with it: when `a` is a string, `a < 5` and `a = 5` are false, not unknown, and `a != 5`
is true. `exists` and `missing` are never unknown.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import re2

from tamis.errors import OperatorError, ParseError
from tamis.model.event import Event
from tamis.model.predicate import Atom, Op, Predicate
from tamis.model.subscription import And, Constant, Dnf, Expression, Not, Or
from tamis.model.values import Scalar, less, same

Truth: TypeAlias = bool | None
AtomTruth: TypeAlias = Callable[[Atom, Event], Truth]


def holds(atom: Atom, event: Event) -> Truth:
    """Truth of one atom; atoms that need operators are not decided here."""
    if not isinstance(atom, Predicate):
        raise OperatorError("this condition uses operators or variables, which plain evaluation cannot run")
    values = event.get(atom.attribute)
    if atom.op is Op.EXISTS:
        return values is not None
    if atom.op is Op.MISSING:
        return values is None
    return None if values is None else any(satisfies(atom, value) for value in values)


def evaluate(expression: Expression, event: Event, truth: AtomTruth = holds) -> Truth:
    """True, False or None (unknown). `truth` decides atoms, so operators can be plugged in."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Not):
        inner = evaluate(expression.child, event, truth)
        return None if inner is None else not inner
    if isinstance(expression, And):
        return all_of(evaluate(child, event, truth) for child in expression.children)
    if isinstance(expression, Or):
        inverse = (evaluate(child, event, truth) for child in expression.children)
        outcome = all_of(None if t is None else not t for t in inverse)
        return None if outcome is None else not outcome
    return truth(expression, event)


def matches(expression: Expression, event: Event) -> bool:
    """Whether the event satisfies the condition: true and nothing less."""
    return evaluate(expression, event) is True


def matches_dnf(dnf: Dnf, event: Event) -> bool:
    """The same for a normal form: some conjunction has every literal true."""

    def literal(atom: Atom, negated: bool) -> bool:
        return holds(atom, event) is (not negated)

    return any(all(literal(part.atom, part.negated) for part in term) for term in dnf)


def all_of(truths: Iterable[Truth]) -> Truth:
    """Kleene's conjunction: false wins over unknown, unknown over true."""
    outcome: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            outcome = None
    return outcome


def satisfies(predicate: Predicate, value: Scalar) -> bool:
    """Whether one value satisfies a predicate that is not about presence."""
    op = predicate.op
    if op is Op.MATCHES:
        return isinstance(value, str) and regex(str(predicate.values[0]), predicate.nocase).search(value) is not None
    value = fold(value) if predicate.nocase else value
    operands = tuple(map(fold, predicate.values)) if predicate.nocase else predicate.values
    if op is Op.IN or op is Op.NOT_IN:
        return any(same(value, operand) for operand in operands) is (op is Op.IN)
    first = operands[0]
    if op is Op.EQ or op is Op.NE:
        return same(value, first) is (op is Op.EQ)
    if op is Op.BETWEEN:
        return at_most(first, value) and at_most(value, operands[1])
    if op in COMPARE:
        return COMPARE[op](value, first)
    return isinstance(value, str) and isinstance(first, str) and PATTERN[op](value, first)


def at_most(left: Scalar, right: Scalar) -> bool:
    """`left <= right` within one ordered kind."""
    return less(left, right) or (same(left, right) and not isinstance(left, bool))


COMPARE: dict[Op, Callable[[Scalar, Scalar], bool]] = {
    Op.LT: less,
    Op.LE: at_most,
    Op.GT: lambda value, bound: less(bound, value),
    Op.GE: lambda value, bound: at_most(bound, value),
}


def like(value: str, pattern: str) -> bool:
    """SQL's LIKE over the whole value: `%` any run, `_` one character, backslash takes the next character literally."""
    wanted = like_tokens(pattern)
    at = token = 0
    retry_token, retry_at = -1, 0
    while at < len(value):
        if token < len(wanted) and wanted[token] == "%":
            retry_token, retry_at, token = token, at, token + 1
        elif token < len(wanted) and wanted[token] in ("_", "=" + value[at]):
            at, token = at + 1, token + 1
        elif retry_token >= 0:
            retry_at += 1
            at, token = retry_at, retry_token + 1
        else:
            return False
    return all(rest == "%" for rest in wanted[token:])


@lru_cache(maxsize=4096)
def like_tokens(pattern: str) -> tuple[str, ...]:
    """A LIKE pattern as tokens: `%`, `_`, or `=` followed by one literal character."""
    tokens: list[str] = []
    characters = iter(pattern)
    for c in characters:
        if c == "\\":
            tokens.append("=" + next(characters, "\\"))
        else:
            tokens.append(c if c in "%_" else "=" + c)
    return tuple(tokens)


PATTERN: dict[Op, Callable[[str, str], bool]] = {
    Op.STARTS: str.startswith,
    Op.ENDS: str.endswith,
    Op.CONTAINS: lambda value, part: part in value,
    Op.LIKE: like,
}


def fold(value: Scalar) -> Scalar:
    """Case folding for `nocase` comparisons."""
    return value.casefold() if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def regex(pattern: str, nocase: bool) -> Any:
    """A compiled RE2 pattern: found anywhere in the value, linear in its length; or a ParseError that quotes RE2."""
    try:
        return re2.compile(pattern, regex_options(nocase))
    except re2.error as problem:
        reason = problem.args[0].decode() if isinstance(problem.args[0], bytes) else str(problem)
        raise ParseError(f"not an RE2 regular expression: {reason}", pattern, 1, 1, len(pattern)) from None


def regex_options(nocase: bool) -> Any:
    """RE2 options every index of patterns must share with the reference."""
    options = re2.Options()
    options.case_sensitive = not nocase
    options.log_errors = False
    options.max_mem = 8 << 20
    return options
