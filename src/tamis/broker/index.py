"""The matcher of a broker, saved beside its database so that a restart need not parse every condition again.

The database is what counts. A saved index is a shortcut: whatever it says that the database does not is corrected, and one
that is missing or damaged is only slower. So it may be written at any time, and losing one loses nothing.
"""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from tamis.broker.settings import Settings
from tamis.engines.registry import DEFAULT
from tamis.errors import StorageError, TamisError
from tamis.matcher import Matcher

log = logging.getLogger("tamis.broker")


def restore(path: Path | None, rows: Iterable[tuple[int, str]], settings: Settings, engine: str | None) -> Matcher:
    """A matcher with exactly these (number, filter), from the saved index as far as it fits."""
    matcher = load(path, settings, engine)
    stale = set(matcher)
    changed = 0
    for number, filter in rows:
        if number not in stale:
            put(matcher.subscribe, number, filter)
        elif matcher.filter(number) != filter:
            put(matcher.replace, number, filter)
        else:
            changed -= 1
        changed += 1
        stale.discard(number)
    for gone in stale:
        matcher.unsubscribe(gone)
    if matcher:
        log.info("index ready", extra={"subscriptions": len(matcher), "not_in_saved_index": changed})
    return matcher


def load(path: Path | None, settings: Settings, engine: str | None) -> Matcher:
    """The saved index, or an empty matcher when there is none to trust."""
    if path is not None and path.exists():
        try:
            matcher = Matcher.load(path, engine, settings.operators, settings.limits)
            if matcher.type == settings.type:
                return matcher
        except TamisError as problem:
            log.warning("the saved index is not usable and will be made again", extra={"problem": str(problem)})
    return Matcher(engine or DEFAULT, type=settings.type, limits=settings.limits, registry=settings.operators)


def put(change: Callable[[int, str], None], number: int, filter: str) -> None:
    """Put a stored condition back; one that was accepted once and is not any more stops the start."""
    try:
        change(number, filter)
    except TamisError as problem:
        raise StorageError(f"the stored condition of subscription {number} is refused: {problem}") from problem


def save(matcher: Matcher, path: Path) -> None:
    """Write the index; a failure is told and does no harm."""
    try:
        matcher.save(path)
    except (TamisError, OSError) as problem:
        log.warning("the index could not be saved", extra={"problem": str(problem)})
