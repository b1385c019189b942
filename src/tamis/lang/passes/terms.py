"""What the passes share: their type, and ways to lift a rewrite of one literal or one conjunction to a whole normal form."""

from collections.abc import Callable
from typing import TypeAlias

from tamis.model.predicate import Op, Predicate
from tamis.model.schema import PublicationType
from tamis.model.subscription import Conjunction, Dnf, Literal

Pass: TypeAlias = Callable[[Dnf, PublicationType | None], Dnf]
Verdict: TypeAlias = Literal | None
"""A literal that says the same, or None: it never holds."""


def per_literal(rewrite: Callable[[Literal, PublicationType | None], Verdict]) -> Pass:
    """A pass that looks at each literal alone."""

    def run(dnf: Dnf, type: PublicationType | None) -> Dnf:
        verdicts: dict[int, Verdict] = {}  # conjunctions share their literals: look at each once
        for term in dnf:
            for literal in term:
                if id(literal) not in verdicts:
                    verdicts[id(literal)] = rewrite(literal, type)
        if all(verdicts[id(literal)] is literal for term in dnf for literal in term):
            return dnf
        rewritten = ([verdicts[id(literal)] for literal in term] for term in dnf)
        return tuple(tuple(filter(None, term)) for term in rewritten if None not in term)

    return run


def per_term(rewrite: Callable[[Conjunction, PublicationType | None], Conjunction | None]) -> Pass:
    """A pass that looks at each conjunction alone; None drops it as a contradiction."""

    def run(dnf: Dnf, type: PublicationType | None) -> Dnf:
        rewritten = (rewrite(term, type) for term in dnf)
        return tuple(term for term in rewritten if term is not None)

    return run


def presence(predicate: Predicate, wanted: bool) -> Verdict:
    """What is left of a literal whose outcome does not depend on the values: `exists`, or never."""
    return Literal(Predicate(predicate.attribute, Op.EXISTS)) if wanted else None
