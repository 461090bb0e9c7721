"""Which replies are compressed, and how."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

GZIP_FROM_BYTES = 128 * 1024
"""Lists of this size are compressed for clients that accept it, as by kube-apiserver."""
GZIP_HEADERS = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))


def gzip(parts: Iterable[bytes | memoryview]) -> bytes:
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([*(compressor.compress(part) for part in parts), compressor.flush()])
