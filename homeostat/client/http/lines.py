"""Splits a stream of pieces into lines."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

_MOST = 1 << 26
"""Many times the size of the largest object. Without a limit, a line could fill the memory."""


async def split_lines(chunks: AsyncIterable[bytes], *, most: int = _MOST) -> AsyncIterator[bytes]:
    """All complete lines; text after the last line break is dropped. A longer line raises `ConnectionError`."""
    rest: list[bytes] = []
    size = 0
    async for chunk in chunks:
        head, *lines = chunk.split(b"\n")
        rest.append(head)
        size += len(head)
        for line in lines:
            if whole := b"".join(rest):
                yield whole
            rest, size = [line], len(line)
        if size > most:
            raise ConnectionError(f"a line of more than {most} bytes came")
