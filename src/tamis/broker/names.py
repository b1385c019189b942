"""Public names: `s7` is a subscription, `e42` an event, `s7.3` the third notification of `s7`.

They are no secrets; a subscription is opened by its ticket, not by its name.
"""

import re

from tamis.errors import EventError, TicketError

NAME = re.compile(r"([se])([1-9][0-9]{0,17})", re.ASCII)


def subscription_number(name: str) -> int:
    """The number in `s7`; what is no such name is as unknown as a wrong ticket."""
    found = NAME.fullmatch(name)
    if found is None or found[1] != "s":
        raise TicketError
    return int(found[2])


def event_number(name: str) -> int:
    """The number in `e42`."""
    found = NAME.fullmatch(name)
    if found is None or found[1] != "e":
        raise EventError(f"{name!r} is not the id of an event")
    return int(found[2])
