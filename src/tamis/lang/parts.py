"""The predicates that the shape of a conjunction joins, each as a shape of its own.

Splitting at every `and` that is not part of a `between` needs no parser: where it goes wrong (inside parentheses, inside a
quoted name, at a `between` with odd spaces), some part is no whole predicate, which whoever parses the parts notices.
"""

import re

from tamis.lang.words import KEYWORDS

AND = re.compile(r"and(?![\w.])(?<![\w.?]and)(?<!between 0 and)(?<!between -0 and)(?<!between '' and)", re.IGNORECASE)
NAMED = re.compile(r"\s*([^\W\d]\w*(?:\.\w+)*)(?=[\s=<>!])(.*)", re.DOTALL)
ANY = "x"
DEEP = 3
"""The depth of the deepest conjunction of single predicates: `and`, `not`, the predicate."""


def form_of(part: str) -> tuple[str, str | None]:
    """A part with its attribute's name taken out, so that all attributes share its form, and that name; where it cannot be
    told, it stays, and is given as None."""
    named = NAMED.fullmatch(part)
    if named is not None and named[1].isascii() and named[1].lower() not in KEYWORDS:
        return ANY + named[2].rstrip(), named[1]
    return part.strip(), None
