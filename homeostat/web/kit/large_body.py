"""Reads the body of a request: a large one in a thread, so that reading it does not hold up other requests.

    review = await read_large(body, partial(read_review, body), user="reviews")

`read` decodes with `in_pieces=is_in_thread()`: in a thread, a decoder that holds the interpreter lock would stop the
event loop all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from homeostat.edge.threads import SHARED, in_thread

LARGE_BYTES: Final = 64 * 1024
T = TypeVar("T")

is_in_thread = SHARED.is_current


async def read_large(body: bytes, read: Callable[[], T], *, user: str) -> T:
    """The result of `read`, which reads `body`. Each user has one thread at a time."""
    return await in_thread(read, user=user) if len(body) > LARGE_BYTES else read()
