"""`mentions(word, …)`: some text of the event has one of the words or phrases, whole and in any case."""

import re
from functools import lru_cache

from tamis.errors import OperatorError
from tamis.model.values import Scalar
from tamis.operators.event import EventView
from tamis.operators.registry import make_operator


@lru_cache(maxsize=4096)
def pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all words; alternatives of plain text cannot backtrack badly."""
    spaced = (r"\s+".join(map(re.escape, word.casefold().split())) for word in words)
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)")


def known_words(*words: Scalar) -> None:
    """Refuse arguments that are no words."""
    if not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise OperatorError("mentions takes one or more words or phrases")


def is_mentioned(event: EventView, *words: str) -> bool:
    """Whether any string of the event has any of the words."""
    search = pattern(words).search
    return any(
        isinstance(value, str) and search(value.casefold()) is not None
        for name in event
        for value in event.values_of(name)
    )


mentions = make_operator("mentions", is_mentioned, cost=2e-5, selectivity=0.1, check=known_words)
