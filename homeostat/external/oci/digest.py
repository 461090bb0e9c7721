"""Digests of contents, and their verification. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

from homeostat.external.oci.errors import DigestMismatchError, InvalidReferenceError

_LENGTHS: Final = {"sha256": 64, "sha512": 128}
_is_hex = re.compile(r"[0-9a-f]+", re.ASCII).fullmatch


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def check_digest(digest: str) -> str:
    algorithm, _, text = digest.partition(":")
    if len(text) != _LENGTHS.get(algorithm) or not _is_hex(text):
        raise InvalidReferenceError(f'"{digest[:150]}" is not a digest; expected sha256 or sha512 in lower-case hex')
    return digest


class DigestVerifier:
    """Hashes bytes as they arrive; `verify` compares the result with the digest."""

    def __init__(self, digest: str) -> None:
        self._digest = check_digest(digest)
        self._hash = hashlib.new(digest.partition(":")[0])

    def update(self, chunk: bytes) -> None:
        self._hash.update(chunk)

    def verify(self, name: str) -> None:
        found = f"{self._hash.name}:{self._hash.hexdigest()}"
        if not hmac.compare_digest(found, self._digest):
            raise DigestMismatchError(f"{name}: expected the digest {self._digest}, got {found}")


def verify(data: bytes, digest: str, name: str) -> None:
    verifier = DigestVerifier(digest)
    verifier.update(data)
    verifier.verify(name)
