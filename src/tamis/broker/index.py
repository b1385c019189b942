"""The matcher of a broker, saved beside its database so that a restart need not parse every condition again.

The database is what counts. A saved index is a shortcut: whatever it says that the database does not is corrected, and one
that is missing or damaged is only slower. So it may be written at any time, and losing one loses nothing.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from tamis.broker.rows import Subscription
from tamis.broker.settings import Settings
from tamis.engines.registry import DEFAULT
from tamis.errors import StorageError, TamisError
from tamis.matcher import Matcher

log = logging.getLogger("tamis.broker")


def restore(path: Path | None, rows: Iterable[Subscription], settings: Settings, engine: str | None) -> Matcher:
    """A matcher with exactly the standing subscriptions among `rows`, from the saved index as far as it fits."""
    matcher = load(path, settings, engine)
    stale = set(matcher)
    changed = 0
    for row in rows:
        if row.ended:
            continue
        if row.number not in matcher:
            subscribe(matcher, row)
        elif matcher.filter(row.number) != row.filter:
            matcher.replace(row.number, row.filter)
        else:
            changed -= 1
        changed += 1
        stale.discard(row.number)
    for number in stale:
        matcher.unsubscribe(number)
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


def subscribe(matcher: Matcher, row: Subscription) -> None:
    """Put a stored condition back; one that was accepted once and is not any more stops the start."""
    try:
        matcher.subscribe(row.number, row.filter)
    except TamisError as problem:
        raise StorageError(f"the stored condition of subscription {row.number} is refused: {problem}") from problem


def save(matcher: Matcher, path: Path) -> None:
    """Write the index; a failure is told and does no harm."""
    try:
        matcher.save(path)
    except (TamisError, OSError) as problem:
        log.warning("the index could not be saved", extra={"problem": str(problem)})
