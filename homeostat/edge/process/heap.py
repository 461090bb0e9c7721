"""The memory of a process that runs for long: garbage is collected in short steps, and freed memory is given back.

The garbage collector stops everything while it runs, for some 0.2 microseconds an object. So it looks at few objects at
a time, and never again at those that exist when the process has started.

The allocator of glibc adapts to the largest blocks that it has seen and then keeps as much, in pieces between smaller
blocks; a fixed bound keeps large blocks, such as request bodies, out of there, as long as no free piece is as large. A
crowd of connections leaves pieces of some 20 KiB, which the history of objects, allocated meanwhile, keeps from being
given back. So what is free is given back regularly, wherever it is, in a thread. That holds the lock of the allocator
for 0.2 ms a MiB, so it is not done seldom; nor often, because memory that is needed again has to be mapped again.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from typing import cast

_THRESHOLDS = (10_000, 5, 1_000)
"""Of objects that may be garbage. Young ones take 2 ms, those that survived for a while up to 20 ms. With 50,000 and
20, one step took 300 ms while 100,000 objects were read, and all of them together no less CPU."""
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1
_ALLOCATOR = ((_ARENA_MAX, 2), (_MMAP_THRESHOLD, 256 * 1024), (_TRIM_THRESHOLD, 1024 * 1024))
"""Options of `mallopt`: all threads share two pools, blocks of 256 KiB and more (bodies, batches of lists) are given
back when they are freed, and so is the end of a pool from 1 MiB on."""

RELEASE_EVERY_S = 30.0


def collect_in_short_steps() -> None:
    gc.set_threshold(*_THRESHOLDS)


def settle_heap() -> None:
    """Call it when the process has started."""
    # Not collected before: that takes 30 ms, and finds a thousand small objects.
    gc.freeze()
    bound_allocator()


def bound_allocator() -> bool:
    """Whether there is a glibc to tell."""
    mallopt = _of_glibc("mallopt")
    return mallopt is not None and all(mallopt(*each) for each in _ALLOCATOR)


async def release_regularly() -> None:
    """Gives back freed memory until it is cancelled. Returns at once if there is no glibc."""
    trim = _of_glibc("malloc_trim")
    while trim is not None:
        await asyncio.sleep(RELEASE_EVERY_S)
        await asyncio.to_thread(trim, 0)


def _of_glibc(name: str) -> Callable[..., int] | None:
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        return cast("Callable[..., int]", getattr(ctypes.CDLL(None), name))
    return None
