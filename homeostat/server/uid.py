"""New uids. The standard library's UUID takes twice as long, and a uid is made for every object."""

from __future__ import annotations

import os

_FREE = (1 << 128) - 1 & ~(0xF << 76) & ~(0x3 << 62)
_VERSION_4 = 0x4 << 76 | 0x2 << 62


def new_uid() -> str:
    """A random (version 4) UUID, RFC 9562."""
    digits = f"{int.from_bytes(os.urandom(16)) & _FREE | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
