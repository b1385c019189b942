"""What to tell a person whose filter does not parse: where, what was expected, what they may have meant."""

import re
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from tamis.errors import ParseError, nearest
from tamis.lang.words import KEYWORDS

FOUND = re.compile(r"[^\W\d][\w.]*|\?\w+|[0-9][\w.]*|&&|\|\||=<|=>|.", re.DOTALL)

# Terminals that together make up one thing a person would name; the first set that is accepted as a whole is named.
PHRASES: tuple[tuple[set[str], str], ...] = (
    ({"NAME", "_NOT"}, "a condition such as price < 300"),
    ({"CMP", "PATTERN"}, "an operator (=, !=, <, <=, >, >=, between, in, like, starts with, …)"),
    ({"BETWEEN", "PATTERN"}, "in, between, like or another operator"),
    ({"NUMBER", "VARIABLE", "NAME"}, "an argument (a word, a value or a variable such as ?x)"),
    ({"NUMBER", "VARIABLE", "STRING"}, "a variable such as ?x or a value"),
    ({"NUMBER", "VARIABLE"}, "a variable such as ?x or a number"),
    ({"NUMBER", "STRING"}, "a value (a number, 'text', true or false)"),
    ({"NUMBER"}, "a number"),
    ({"NAME"}, "an attribute name"),
    ({"CMP"}, "a comparison (=, !=, <, <=, >, >=)"),
)
SIGNS = {
    "_AND": "`and`",
    "_OR": "`or`",
    "_COMMA": "a comma",
    "_RPAR": "`)`",
    "_LPAR": "`(`",
    "$END": "the end of the filter",
}

WORDS = {
    "_AND": ("and",),
    "_OR": ("or",),
    "_NOT": ("not",),
    "NOCASE": ("nocase",),
    "BETWEEN": ("between",),
    "IN": ("in",),
    "PATTERN": ("like", "matches", "contains", "starts with", "ends with"),
    "PRESENCE": ("exists", "missing"),
}
FOREIGN = {
    "&&": "write `and`",
    "&": "write `and`",
    "||": "write `or`",
    "|": "write `or`",
    "!": "write `not`, or != to compare",
    "=<": "write <=",
    "=>": "write >=",
    "~": "write `matches` for a regular expression, `like` for a pattern",
    "is": "write exists(name) or missing(name)",
    "null": "absence is asked with missing(name)",
    "none": "absence is asked with missing(name)",
    "startswith": "write `starts with`",
    "endswith": "write `ends with`",
    ";": "a filter is one condition; join several with `and` or `or`",
    ".": "a number has digits on both sides of its point",
}


def locate(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of an offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def explain(text: str, problem: UnexpectedInput, grammar: Lark) -> ParseError:
    """The parser's complaint in human words."""
    if isinstance(problem, UnexpectedToken):
        ended = problem.token.type == "$END"
        offset = len(text.rstrip()) if ended else problem.token.start_pos or 0
    else:
        assert isinstance(problem, UnexpectedCharacters)
        ended, offset = False, problem.pos_in_stream
    wanted = acceptable(text, len(text) if ended else offset, grammar)
    match = None if ended else FOUND.match(text, offset)
    found = "" if match is None else match[0]
    what = f"`{found}`" if found.strip() else "the end of the filter"
    line, column = locate(text, offset)
    message = f"expected {expectation(wanted)}, found {what}{advice(text, offset, found, wanted)}"
    return ParseError(message, text, line, column, len(found))


def acceptable(text: str, offset: int, grammar: Lark) -> set[str]:
    """The terminals that could stand at an offset where parsing failed.

    When it fails, the parser has already reduced what stood before, and forgotten some of them; so parse again up to there.
    """
    cursor: Any = grammar.parse_interactive(text)
    try:
        for token in cursor.iter_parse():
            if token.start_pos >= offset:
                break
    except UnexpectedInput:
        pass
    return set(cursor.accepts())


def expectation(wanted: set[str]) -> str:
    """The acceptable terminals as a phrase."""
    named = next(((parts, phrase) for parts, phrase in PHRASES if parts <= wanted), (set(), ""))
    phrases = [named[1]] if named[1] else []
    phrases += [sign for name, sign in SIGNS.items() if name in wanted and not (named[1] and name == "_LPAR")]
    return " or ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))


def advice(text: str, offset: int, found: str, wanted: set[str]) -> str:
    """A hint, starting with a semicolon, or nothing."""
    word = found.lower()
    if found and found in "'\"`":
        return f"; the quote {found} is never closed"
    if word in FOREIGN:
        return f"; {FOREIGN[word]}"
    if offset and text[offset - 1] in "'\"" and word.isalpha():
        return "; a quote inside single quotes is doubled: 'it''s'"
    if found == "-" and "PATTERN" in wanted:
        return "; a name with signs other than letters, digits, _ and . goes into `backquotes`"
    if found.startswith("?") and "STRING" in wanted:
        return "; an attribute is compared with constants, not with variables"
    if wanted == {"_LPAR"}:
        return "; write exists(name) or missing(name)"
    if not word[:1].isalpha():
        return ""
    if word in KEYWORDS and "NAME" in wanted:
        return f"; `{word}` is a word of the language: as a name it goes into `backquotes`"
    if "STRING" in wanted and "VARIABLE" in wanted:
        return "; an attribute stands on the left and is compared with constants: price < 300"
    if "STRING" in wanted:
        return f"; an attribute is not compared with another attribute; if this is text, quote it: '{found}'"
    return nearest(word, (known for name in wanted & WORDS.keys() for known in WORDS[name] if known != word))
