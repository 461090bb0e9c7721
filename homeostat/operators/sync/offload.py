"""Computes with large payloads in a thread, and frees them in steps, so that the event loop serves everybody else.

A file or an answer of some megabytes has hundreds of thousands of values, and each pass over them takes a second or
more. The event loop is that of the plane if the operator runs inside it. What small payloads need is done at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from homeostat.edge.threads import in_thread
from homeostat.edge.turn import Turn

T = TypeVar("T")
MOST_VALUES: Final = 2000
"""With more values, a payload is large: each pass takes some 5 us a value."""
LARGE_BYTES: Final = 1 << 16
_ALIAS: Final = b"*"
"""Aliases of YAML: a kilobyte of them stands for as many values as a payload may have."""
_USER: Final = "sync"
_FREED: Final = 500
"""Objects that are freed before the clock is read."""


async def computed(work: Callable[[], T], *values: Any) -> T:
    """The result of `work`, which uses these values; bytes are such that it decodes."""
    return await in_thread(work, user=_USER) if is_large(*values) else work()


async def swept(work: Callable[[], T], count: int) -> T:
    """The result of `work`, which passes over so many things."""
    return await in_thread(work, user=_USER) if count > MOST_VALUES else work()


async def release(held: list[Any]) -> None:
    """Empties the list in steps: 200,000 objects that are freed at once take 200 ms, also in a thread, which would keep
    the interpreter lock meanwhile. The caller has dropped everything else that refers to them.
    """
    turn = Turn()
    while held:
        del held[-_FREED:]
        await turn.pause()


def is_large(*values: Any) -> bool:
    left, stack = MOST_VALUES, list(values)
    while stack:
        each = stack.pop()
        if isinstance(each, str | bytes):
            if len(each) > LARGE_BYTES or (isinstance(each, bytes) and _ALIAS in each):
                return True
            continue
        if isinstance(each, dict | list):
            left -= len(each)
            if left < 0:
                return True
            stack.extend(each.values() if isinstance(each, dict) else each)
    return False
