"""Bodies that take long to decode: a test sends one and measures that the event loop goes on."""

from __future__ import annotations

from typing import Final

LONGEST_TURN_S: Final = 0.09
"""CPU time of the event loop, the client of the test included. Decoding such a body on it takes 0.15 s and more."""


def dense_body(member: str) -> bytes:
    """A JSON object of some 3 MB; its member is an object with a great many keys."""
    keys = b",".join(b'"%x":1' % at for at in range(320_000))
    return b'{"%b":{%b}}' % (member.encode(), keys)
