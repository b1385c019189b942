"""Text → condition, through the LALR grammar in grammar.lark.

The parser keeps its own stack and builds the model bottom-up, so deep nesting costs memory, never Python's stack; the
result is measured against the limits before anything walks it.
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Literal as OneOf
from typing import NoReturn, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from tamis.errors import FilterError, ParseError
from tamis.lang.faults import explain, locate
from tamis.lang.size import check_size, check_text
from tamis.lang.words import read_name, read_number, read_string
from tamis.model.check import complaint
from tamis.model.limits import Limits
from tamis.model.predicate import Arithmetic, Constraint, Op, OperatorPredicate, Predicate, Term, Variable
from tamis.model.subscription import And, Constant, Expression, Not, Or
from tamis.model.values import Scalar, check_scalar

OPERATORS = {op.value: op for op in Op} | {"==": Op.EQ, "<>": Op.NE}


def parse(text: str, limits: Limits = Limits()) -> Expression:
    """The condition a filter states, or a ParseError that points at the fault, or a LimitError."""
    check_text(text, limits)
    try:
        expression = cast(Expression, grammar().parse(text))
    except UnexpectedInput as problem:
        raise explain(text, problem, grammar()) from None
    except Fault as fault:
        line, column = locate(text, fault.start)
        raise ParseError(fault.message, text, line, column, fault.end - fault.start) from None
    check_size(expression, limits)
    return expression


@lru_cache(maxsize=1)
def grammar() -> Lark:
    """The compiled grammar; made on first use because it takes a noticeable fraction of a second."""
    source = files("tamis.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(source, parser="lalr", lexer="contextual", transformer=Builder())


class Fault(Exception):
    """Something wrong between two offsets of the text; `parse` turns it into a ParseError."""

    def __init__(self, message: str, start: int, end: int) -> None:
        self.message, self.start, self.end = message, start, end


def blame(message: str, *tokens: Token) -> NoReturn:
    """Point at a run of tokens."""
    raise Fault(message, tokens[0].start_pos or 0, tokens[-1].end_pos or 0)


def scalar(token: Token) -> Scalar:
    """The constant a token spells."""
    try:
        if token.type == "BOOL":
            return token.lower() == "true"
        return read_number(token) if token.type == "NUMBER" else check_scalar(read_string(token), "here", FilterError)
    except FilterError as problem:
        blame(str(problem).removeprefix("here: "), token)


def term(part: "Token | Variable | Arithmetic") -> Term:
    """A side of a constraint."""
    return scalar(part) if isinstance(part, Token) else part


class Builder(Transformer[Token, Expression]):
    """One method per alias in the grammar; called while parsing, innermost first."""

    def start(self, children: list[Expression]) -> Expression:
        return children[0]

    def either(self, children: list[Expression]) -> Expression:
        return Or(tuple(children))

    def both(self, children: list[Expression]) -> Expression:
        return And(tuple(children))

    def negate(self, children: list[Expression]) -> Expression:
        return Not(children[0])

    def constant(self, children: list[Token]) -> Expression:
        return Constant(children[0].lower() == "true")

    def name(self, children: list[Token]) -> Token:
        token = children[0]
        plain = read_name(token)
        try:
            check_scalar(plain, "a name", FilterError)
        except FilterError as problem:
            blame(str(problem), token)
        return token.update(value=plain)

    def minus(self, children: list[Token]) -> Token:
        sign, digits = children
        joined = sign.update(type="NUMBER", value="-" + digits)
        joined.end_pos = digits.end_pos
        return joined

    def compare(self, children: list[Token]) -> Predicate:
        return predicate(children, "")

    def compare_not(self, children: list[Token]) -> Expression:
        if children[1].type == "IN":
            return predicate(children, "not ")
        return Not(predicate(children, ""))

    def presence(self, children: list[Token]) -> Predicate:
        return Predicate(str(children[1]), OPERATORS[children[0].lower()])

    def argument(self, children: list[Token | Variable]) -> Scalar | Variable:
        part = children[0]
        if isinstance(part, Variable):
            return part
        return str(part) if part.type in ("NAME", "QUOTED") else scalar(part)

    def operator(self, children: Sequence[Token | Scalar | Variable]) -> OperatorPredicate:
        return OperatorPredicate(str(children[0]), tuple(children[1:]))

    def constraint(self, children: list[Token | Variable | Arithmetic]) -> Constraint:
        left, comparison, right = children
        assert isinstance(comparison, Token)
        stated = Constraint(OPERATORS[comparison], term(left), term(right))
        if not stated.variables:
            blame("a comparison needs an attribute on its left or a variable such as ?x", comparison)
        return stated

    def arithmetic(self, children: list[Token | Variable | Arithmetic]) -> Arithmetic:
        left, sign, right = children
        return Arithmetic(cast(OneOf["+", "-", "*", "/"], str(sign)), term(left), term(right))

    def variable(self, children: list[Token]) -> Variable:
        return Variable(children[0][1:])


def predicate(children: list[Token], prefix: str) -> Predicate:
    """`name operator value… [nocase]` as a well-formed predicate, or a Fault at the value that does not fit."""
    name, operator, *values = children
    nocase = values[-1].type == "NOCASE"
    if nocase:
        values.pop()
    op = OPERATORS[prefix + " ".join(operator.lower().split())]
    built = Predicate(str(name), op, tuple(scalar(value) for value in values), nocase)
    problem = complaint(built)
    if problem is not None:
        at = children[2:] if problem.value is None else [values[problem.value]]
        blame(problem.message, *at)
    return built
