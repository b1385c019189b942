"""What every stream does: send what comes, at most `in_flight` beyond the acknowledged, and again if nobody acknowledges.

A notification that is not acknowledged in time is sent again with all that follow it; after so many attempts it becomes a
dead letter. The timers are monotonic, so a clock that jumps does not resend.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from functools import partial

from tamis.broker.core import Core
from tamis.broker.rows import Delivery
from tamis.broker.service import Service

PAGE = 64


async def follow(service: Service, number: int, after: int | None, way: str) -> AsyncGenerator[list[Delivery]]:
    """Pages of notifications until the subscription or the broker ends; an empty page means «still there»."""
    settings, sent = service.settings, service.metrics.sent.labels(way)
    standing = service.standing(number)
    cursor = standing.cursor if standing else 0
    position = max(cursor, min(after or 0, standing.last if standing else 0))
    since, attempts = time.monotonic(), 0
    with service.streaming(number, way) as changed:
        yield []
        while not service.stopping.is_set():
            changed.clear()
            standing = service.standing(number)
            if standing is None:
                return
            if standing.cursor > cursor:
                cursor, since, attempts = standing.cursor, time.monotonic(), 0
            position = max(position, cursor)
            room = settings.in_flight - (position - cursor)
            page = (
                await service.page(number, position, min(room, PAGE)) if room > 0 and standing.last > position else []
            )
            if page:
                if position == cursor:
                    since = time.monotonic()
                yield page
                sent.inc(len(page))
                position = page[-1].n
                continue
            pause = settings.keep_alive
            if position > cursor:
                pause = min(pause, max(0.0, since + settings.ack_wait - time.monotonic()))
            try:
                await asyncio.wait_for(changed.wait(), pause)
            except TimeoutError:
                if position > cursor and time.monotonic() >= since + settings.ack_wait:
                    position, since, attempts = cursor, time.monotonic(), attempts + 1
                    if attempts >= settings.attempts:
                        await service.do(
                            partial(Core.give_up, number=number, n=cursor + 1, reason="nobody acknowledged it")
                        )
                else:
                    yield []
