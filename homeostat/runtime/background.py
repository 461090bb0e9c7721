"""Work beside a block: it starts with the block and ends with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def background(*work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Cancels the work at the end of the block. If some of it fails, the block is cancelled, and an `ExceptionGroup`
    has the error.
    """
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
