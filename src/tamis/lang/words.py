"""Spelling shared by parser, printer and shape cache: names, keywords, constants."""

import re

from tamis.errors import FilterError
from tamis.model.values import Scalar, check_scalar

OPERATORS = ("between", "in", "like", "contains", "matches", "starts", "ends", "with")
KEYWORDS = frozenset(("and", "or", "not", "true", "false", "exists", "missing", "nocase", *OPERATORS))
NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\", "/": "/"}
WRITTEN = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def is_plain_name(name: str) -> bool:
    """Whether a name needs no backquotes."""
    return NAME.fullmatch(name) is not None and name.lower() not in KEYWORDS


def write_name(name: str) -> str:
    """A name as the language spells it."""
    return name if is_plain_name(name) else "`" + name.replace("`", "``") + "`"


def read_name(text: str) -> str:
    """The name that a plain or backquoted spelling stands for."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def write_scalar(value: Scalar) -> str:
    """A constant as the language spells it; text with unprintable characters goes into double quotes with escapes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(write_character(c) for c in value) + '"'


def write_character(c: str) -> str:
    """One character inside double quotes."""
    if c in WRITTEN:
        return WRITTEN[c]
    code = ord(c)
    return c if c.isprintable() else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def read_string(text: str) -> str:
    """The string that a quoted spelling stands for: '' in single quotes, backslash escapes in double quotes."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    decoded = ESCAPE.sub(read_escape, inner)
    # Two escapes may spell one character outside the basic plane, as JSON writes it.
    return decoded.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def read_escape(match: re.Match[str]) -> str:
    """The character that one escape stands for."""
    body = match[1]
    if body in ESCAPED:
        return ESCAPED[body]
    if len(body) == 1:
        known = " ".join("\\" + c for c in 'nrtbf0"\\')
        raise FilterError(
            f"unknown escape \\{body} (known: {known} \\xHH \\uHHHH \\UHHHHHHHH; single quotes take text as it is)"
        )
    code = int(body[1:], 16)
    if code > 0x10FFFF:
        raise FilterError(f"\\{body} is not a character")
    return chr(code)


def read_number(text: str) -> int | float:
    """An integer of 64 bits or a finite number."""
    if text.lstrip("-").isdigit():
        if len(text) > 20:
            raise FilterError("the integer does not fit in 64 bits")
        value: Scalar = int(text)
    else:
        value = float(text)
    checked = check_scalar(value, "here", FilterError)
    assert not isinstance(checked, bool | str)
    return checked
