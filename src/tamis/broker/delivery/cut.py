"""The end of a connection whose other side does not read."""

import asyncio

from starlette.types import Scope


async def cut(scope: Scope) -> None:
    """End it without waiting for what is still to be written, where the server can."""
    scope.get("state", {}).get("cut", lambda: None)()
    await asyncio.sleep(0)  # let the server notice before it is told that the answer is not complete
