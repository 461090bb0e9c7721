"""Waits until the objects that a page needs are listed; if that takes too long, the response is 503."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from homeostat.web.kit.refusal import RefusalError

WITHIN_S: Final = 10.0


async def wait_ready(synced: Awaitable[None], lacking: str = "the control plane does not respond") -> None:
    """`lacking` is the reason in the response."""
    try:
        async with asyncio.timeout(WITHIN_S):
            await synced
    except TimeoutError:
        raise RefusalError(503, f"not ready yet: {lacking}", (("Retry-After", "5"),)) from None
