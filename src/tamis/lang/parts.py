"""The predicates that the shape of a conjunction joins, each as a shape of its own.

Splitting at every `and` that is not part of a `between` needs no parser: where it goes wrong (inside parentheses, inside a
quoted name), some part is no whole predicate, which whoever parses the parts notices.
"""

import re

from tamis.lang.words import KEYWORDS

AND = re.compile(r"(?<![\w.?])and(?![\w.])", re.IGNORECASE)
HALF = re.compile(r"(?<![\w.])between\s*-?\s*\w*'*\s*$", re.IGNORECASE)
NAMED = re.compile(r"\s*([^\W\d]\w*(?:\.\w+)*)(?=[\s=<>!])(.*)", re.DOTALL)
ANY = "x"
DEEP = 3
"""The depth of the deepest conjunction of single predicates: `and`, `not`, the predicate."""


def parts_of(shape: str, untyped: bool) -> list[tuple[str, str | None]]:
    """(shape, name) of each part: under no type the name is taken out of the shape, so that attributes share shapes; where it
    cannot be told, it stays, and is given as None."""
    pieces = AND.split(shape)
    parts: list[tuple[str, str | None]] = []
    i, last = 0, len(pieces) - 1
    while i <= last:
        piece = pieces[i]
        if i < last and HALF.search(piece):
            i += 1
            piece = f"{piece}and{pieces[i]}"
        i += 1
        named = NAMED.fullmatch(piece) if untyped else None
        if named is not None and named[1].isascii() and named[1].lower() not in KEYWORDS:
            parts.append((ANY + named[2].rstrip(), named[1]))
        else:
            parts.append((piece.strip(), None))
    return parts
