"""A cached document: its bytes, plain and compressed, and its ETag."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from homeostat.objects.json import Json, decode_stored, encode

_QUICK_BYTES = 32 * 1024
"""Compressed; the plain form is up to 25 times as large, and unpacked in some milliseconds."""


class Document:
    """Each form is computed from the other when first needed; `pack` keeps only the compressed one."""

    __slots__ = ("_body", "_gzip", "_protobuf", "_yaml", "etag")

    def __init__(self, body: bytes, *, etag: str = "") -> None:
        self._body: bytes | None = body
        self._gzip: bytes | None = None
        self._protobuf: Document | None = None
        self._yaml: Document | None = None
        self.etag = etag or f'"{content_hash(body)}"'

    @property
    def is_quick(self) -> bool:
        """Whether the plain form is at hand, or unpacked at once."""
        return self._gzip is None or self._body is not None or len(self._gzip) < _QUICK_BYTES

    @property
    def body(self) -> bytes:
        if self._body is None:
            assert self._gzip is not None
            return _plain(self._gzip)
        return self._body

    @property
    def gzip(self) -> bytes:
        if self._gzip is None:
            assert self._body is not None
            self._gzip = _compressed(self._body)
        return self._gzip

    def pack(self) -> Document:
        _ = self.gzip
        self._body = None
        return self

    def in_protobuf(self) -> Document:
        """A document of discovery in protobuf, for clients that accept nothing else."""
        if self._protobuf is None:
            from homeostat.objects.wire import encode as protobuf

            self._protobuf = Document(protobuf.encode(decode_stored(self.body)))
        return self._protobuf

    def in_yaml(self) -> Document:
        if self._yaml is None:
            from homeostat.objects import yaml

            self._yaml = Document(yaml.dump(decode_stored(self.body)))
        return self._yaml

    def is_known(self, if_none_match: str) -> bool:
        """Whether a client that sent this `If-None-Match` has the document already (304)."""
        tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
        return self.etag in tags or "*" in tags


def _compressed(body: bytes) -> bytes:
    # Imported here: a start does not need it.
    import gzip

    return gzip.compress(body, compresslevel=4, mtime=0)


@lru_cache(2)
def _plain(compressed: bytes) -> bytes:
    """Clients that take no gzip often come in numbers and want the same document."""
    import gzip

    return gzip.decompress(compressed)


def document_of(value: Json) -> Document:
    return Document(encode(value))


def content_hash(body: bytes) -> str:
    return sha256(body).hexdigest().upper()
