"""Text ⇄ model.

A filter is read by `parse`, checked against a publication type by `bind`, brought to disjunctive normal form by
`normalise`, and written back by `show`. `build` makes the same model from Python expressions, `types` reads publication
types, and `shapes` makes reading many filters of the same shape cheap.
"""

from tamis.lang.bind import bind
from tamis.lang.build import attr, call, var
from tamis.lang.normalise import normalise
from tamis.lang.parse import parse
from tamis.lang.print import show

__all__ = ["attr", "bind", "call", "normalise", "parse", "show", "var"]
