"""Lines of a stream that comes in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator


async def split_lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Every line that is whole, of whatever length; what follows the last line break is dropped."""
    rest: list[bytes] = []
    async for chunk in chunks:
        head, *lines = chunk.split(b"\n")
        rest.append(head)
        for line in lines:
            if whole := b"".join(rest):
                yield whole
            rest = [line]
