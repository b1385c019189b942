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

    def term_rewrite(term: Conjunction, type: PublicationType | None) -> Conjunction | None:
        kept = []
        for literal in term:
            verdict = rewrite(literal, type)
            if verdict is None:
                return None
            kept.append(verdict)
        return tuple(kept)

    return per_term(term_rewrite)


def per_term(rewrite: Callable[[Conjunction, PublicationType | None], Conjunction | None]) -> Pass:
    """A pass that looks at each conjunction alone; None drops it as a contradiction."""

    def run(dnf: Dnf, type: PublicationType | None) -> Dnf:
        rewritten = (rewrite(term, type) for term in dnf)
        return tuple(term for term in rewritten if term is not None)

    return run


def presence(predicate: Predicate, wanted: bool) -> Verdict:
    """What is left of a literal whose outcome does not depend on the values: `exists`, or never."""
    return Literal(Predicate(predicate.attribute, Op.EXISTS)) if wanted else None
