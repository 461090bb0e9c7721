"""Cuts data into writes of a moderate size, so that little of it waits in buffers for a client that does not read.

A transport that is given megabytes at once copies them, and under TLS encrypts them, before anybody knows whether the
client reads. Nor does a TLS transport report such a write as unread. So nothing larger than `PIECE` is written at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PIECE = 64 * 1024
"""Large enough for throughput, and what TLS buffers before it reports that the client does not read."""


def pieces_of(parts: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """The parts in pieces of about `PIECE` bytes: small parts are joined, large ones are split without a copy."""
    batch: list[bytes] = []
    size = 0
    for part in parts:
        if len(part) >= PIECE:
            if batch:
                yield b"".join(batch)
                batch, size = [], 0
            yield from split(part)
            continue
        batch.append(part)
        size += len(part)
        if size >= PIECE:
            yield b"".join(batch)
            batch, size = [], 0
    if batch:
        yield b"".join(batch)


def split(data: bytes) -> Iterator[memoryview]:
    view = memoryview(data)
    return (view[at : at + PIECE] for at in range(0, len(data), PIECE))
