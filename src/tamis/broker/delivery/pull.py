"""Pull: the next notifications after a cursor, waiting a while if there are none."""

import asyncio
import time

from tamis.broker.rows import Delivery
from tamis.broker.service import Service


async def pull(service: Service, number: int, after: int, limit: int, wait: float) -> list[Delivery]:
    """Up to `limit` notifications; an empty list when `wait` seconds bring none or the subscription ends."""
    until = time.monotonic() + min(wait, service.settings.long_poll_max)
    with service.listening(number) as changed:
        while True:
            changed.clear()
            page = await service.page(number, after, limit)
            left = until - time.monotonic()
            if page or left <= 0 or service.stopping.is_set() or service.standing(number) is None:
                return page
            try:
                await asyncio.wait_for(changed.wait(), left)
            except TimeoutError:
                return []
