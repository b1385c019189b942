"""`entails(program, predicate, …)`: a Datalog or answer-set query over the event, answered by clingo.

The event's attributes are facts `value(name, content)`: integers as numbers, `true`/`false` as symbols, everything else as
strings. The program is written in place, or named `@file.lp` below the directory `TAMIS_PROGRAMS`. The predicate holds for
the rows that it has in *every* stable model; arguments after it are variables or constants to compare with::

    entails('speeding :- value("speed", S), S > 80.', speeding)
    entails('@policy.lp', suspect, ?who)

Programs can take for ever, so they run in a worker process under limits.
"""

import os
from pathlib import Path

import clingo

from tamis.errors import OperatorError
from tamis.model.predicate import Variable
from tamis.model.values import Scalar
from tamis.operators.answer import project
from tamis.operators.event import EventView
from tamis.operators.registry import make_operator


def program_text(source: str) -> str:
    """The program itself, or that of the file it names."""
    if not source.startswith("@"):
        return source
    root = os.environ.get("TAMIS_PROGRAMS")
    if not root:
        raise OperatorError(f"{source} names a file, but TAMIS_PROGRAMS does not say below which directory")
    file = (Path(root) / source[1:]).resolve()
    if not file.is_relative_to(Path(root).resolve()) or not file.is_file():
        raise OperatorError(f"there is no program {source[1:]!r} below TAMIS_PROGRAMS")
    return file.read_text(encoding="utf-8")


def facts(event: EventView) -> str:
    """The event as a program."""
    lines = (f"value({clingo.String(n)}, {symbol(v)})." for n in event for v in event.values_of(n))
    return "\n".join(lines)


def symbol(value: Scalar) -> clingo.Symbol:
    """A scalar as clingo has it."""
    if isinstance(value, bool):
        return clingo.Function("true" if value else "false")
    return clingo.Number(value) if isinstance(value, int) and abs(value) < 2**31 else clingo.String(str(value))


def scalar(found: clingo.Symbol) -> Scalar:
    """What clingo found as a scalar; `true` and `false` come back as they went, other terms as their text."""
    if found.type is clingo.SymbolType.Number:
        return found.number
    if found.type is clingo.SymbolType.String:
        return found.string
    text = str(found)
    return text == "true" if text in ("true", "false") else text


def query(
    event: EventView, program: str, predicate: str, *arguments: Scalar | Variable
) -> bool | list[tuple[Scalar, ...]]:
    """Rows of the predicate that all stable models share, projected on the variables."""
    messages: list[str] = []
    control = clingo.Control(["--enum-mode=cautious", "--models=0"], logger=lambda _, text: messages.append(text))
    try:
        control.add("base", [], program_text(program) + "\n" + facts(event))
        control.ground([("base", [])])
    except RuntimeError as problem:
        raise OperatorError(f"the program is not well-formed: {(messages or [str(problem)])[0]}") from None
    shared: list[clingo.Symbol] = []

    def keep(model: clingo.Model) -> None:
        shared[:] = model.symbols(atoms=True)  # under cautious enumeration each model is the intersection so far

    outcome = control.solve(on_model=keep)
    if outcome.unsatisfiable:
        raise OperatorError("the program has no stable model for this event")
    rows = [
        tuple(scalar(a) for a in atom.arguments)
        for atom in shared
        if atom.name == predicate and len(atom.arguments) == len(arguments) and atom.positive
    ]
    found = project(arguments, rows)
    return found if any(isinstance(a, Variable) for a in arguments) else bool(found)


entails = make_operator("entails", query, isolate=True, seconds=5, megabytes=1024, cost=0.005, selectivity=0.2)
