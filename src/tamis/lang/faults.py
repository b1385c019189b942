"""What to tell a person whose filter does not parse: where, what was expected, what they may have meant."""

import re

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from tamis.errors import ParseError, nearest

OPERATOR_WORDS = ("between", "in", "not in", "like", "matches", "contains", "starts with", "ends with")
JOINING_WORDS = ("and", "or", "nocase")
CONDITION_WORDS = ("not", "exists", "missing", "true", "false")
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
}
FOUND = re.compile(r"[^\W\d][\w.]*|\?\w+|[0-9][\w.]*|&&|\|\||=<|=>|.", re.DOTALL)


def locate(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of an offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def explain(text: str, problem: UnexpectedInput) -> ParseError:
    """The parser's complaint in human words."""
    if isinstance(problem, UnexpectedToken):
        ended = problem.token.type == "$END"
        offset = len(text.rstrip()) if ended else problem.token.start_pos or 0
        wanted = set(problem.accepts or problem.expected)
    else:
        assert isinstance(problem, UnexpectedCharacters)
        offset, ended, wanted = problem.pos_in_stream, False, set(problem.allowed or ())
    match = FOUND.match(text, offset)
    found = "" if ended or match is None else match[0]
    message = f"expected {expectation(wanted)}, found {f'`{found}`' if found.strip() else 'the end of the filter'}"
    line, column = locate(text, offset)
    return ParseError(message + advice(text, offset, found, wanted), text, line, column, len(found))


def expectation(wanted: set[str]) -> str:
    """The acceptable terminals as a phrase."""
    phrases = []
    if {"NAME", "_NOT"} <= wanted:
        phrases.append("a condition such as price < 300")
    elif {"CMP", "PATTERN"} <= wanted:
        phrases.append("an operator (=, !=, <, <=, >, >=, between, in, like, starts with, …)")
    elif {"BETWEEN", "PATTERN"} <= wanted:
        phrases.append("in, between, like or another operator after not")
    elif {"NUMBER", "VARIABLE", "NAME"} <= wanted:
        phrases.append("an argument (a word, a value or a variable such as ?x)")
    elif {"NUMBER", "VARIABLE"} <= wanted:
        phrases.append("a variable such as ?x, a number" + (" or a string" if "STRING" in wanted else ""))
    elif {"NUMBER", "STRING"} <= wanted:
        phrases.append("a value (a number, 'text', true or false)")
    elif "NUMBER" in wanted:
        phrases.append("a number")
    elif "NAME" in wanted:
        phrases.append("an attribute name")
    elif "CMP" in wanted:
        phrases.append("a comparison (=, !=, <, <=, >, >=)")
    spelt = {
        "_AND": "`and`",
        "_OR": "`or`",
        "_COMMA": "a comma",
        "_RPAR": "`)`",
        "_LPAR": "`(`",
        "$END": "the end of the filter",
    }
    covered = "CMP" in wanted or {"NAME", "_NOT"} <= wanted
    phrases += [phrase for name, phrase in spelt.items() if name in wanted and not (covered and name == "_LPAR")]
    return ", ".join(phrases[:-1]) + " or " + phrases[-1] if len(phrases) > 1 else "".join(phrases) or "something else"


def advice(text: str, offset: int, found: str, wanted: set[str]) -> str:
    """A hint, starting with a semicolon, or nothing."""
    word = found.lower()
    if found and found in "'\"`":
        return f"; the quote {found} is never closed"
    if word in FOREIGN:
        return f"; {FOREIGN[word]}"
    if found == "-" and "CMP" in wanted:
        return "; a name with other signs than letters, digits, _ and . goes into `backquotes`"
    if found.startswith("?") and "STRING" in wanted:
        return "; variables compare with variables and numbers, not with attributes"
    if not word[:1].isalpha():
        return ""
    if "STRING" in wanted and "NAME" not in wanted:
        return (
            f"; an attribute is compared with a value, not with another attribute: quote text ('{found}')"
            if re.search(r"[=<>(,]\s*$|\w\s*$", text[:offset])
            else ""
        )
    known: tuple[str, ...] = ()
    if "PATTERN" in wanted:
        known += OPERATOR_WORDS
    if "_AND" in wanted:
        known += JOINING_WORDS
    if {"NAME", "_NOT"} <= wanted:
        known += CONDITION_WORDS
    return nearest(word, known)
