"""Waits until a condition holds; otherwise fails with the last observed value."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
_FIRST_S = 0.01
_LONGEST_S = 0.05


@overload
async def eventually(
    see: Callable[[], Awaitable[T]], holds: Callable[[T], object] = ..., *, within_s: float = ...
) -> T: ...
@overload
async def eventually(see: Callable[[], T], holds: Callable[[T], object] = ..., *, within_s: float = ...) -> T: ...


async def eventually(see: Callable[[], Any], holds: Callable[[Any], object] = bool, *, within_s: float = 30.0) -> Any:
    """Returns the result of `see` for which `holds` is true. An error of `see` is retried until the timeout."""
    error: Exception | None = None
    last = "nothing"
    began = asyncio.get_running_loop().time()
    while True:
        try:
            seen = see()
            if inspect.isawaitable(seen):
                seen = await seen
            if holds(seen):
                return seen
            error, last = None, repr(seen)
        except Exception as caught:
            error, last = caught, repr(caught)
        waited = asyncio.get_running_loop().time() - began
        if waited >= within_s:
            raise AssertionError(f"timed out after {within_s:g} s; last seen: {last}") from error
        # Less often the longer it takes: each check takes CPU that the awaited work may need.
        await asyncio.sleep(min(max(waited / 5, _FIRST_S), _LONGEST_S))
