"""A call runs at once, up to its first wait, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable

import pytest

from homeostat.server.request.eager import run_eagerly


async def test_a_call_that_never_waits_is_answered_at_once() -> None:
    async def answer() -> int:
        return 7

    assert run_eagerly(answer()) == 7


async def test_a_call_that_fails_after_a_wait_leaves_nothing_for_the_garbage_collector() -> None:
    class Body:
        """Stands for megabytes, in the frames of what failed."""

    held: list[weakref.ref[Body]] = []

    async def fail(waiting: list[asyncio.Future[None]]) -> None:
        body = Body()
        held.append(weakref.ref(body))
        await waiting.pop()
        raise AssertionError(body)

    async def call() -> None:
        loop = asyncio.get_running_loop()
        waiting = [loop.create_future()]
        loop.call_soon(waiting[0].set_exception, OSError("the disk is full"))
        started = run_eagerly(fail(waiting))
        assert isinstance(started, Awaitable)
        with pytest.raises(OSError, match="full"):
            await started

    gc.disable()
    try:
        await call()
        # This turn of the loop has the future whose error it delivered.
        await asyncio.sleep(0)
        assert [each() for each in held] == [None]
    finally:
        gc.enable()
