"""Encryption at rest: AES-GCM with a random nonce per value, bound to the key and the revision of the record.

The record's key and revision are associated data, so a sealed value cannot be moved to another record or replayed at
another revision. It starts with the id of the encryption key, so that a wrong key and a damaged value are different
errors. The cryptography package is imported with the first sealed value: a start without Secrets does not need it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from homeostat.store.base import Key, StoreError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CIPHER = "cryptography.hazmat.primitives.ciphers.aead"
"""The module that the first sealed value imports; it takes some tens of milliseconds."""
_ID_BYTES = 4
_NONCE_BYTES = 12
_KEY_BYTES = 32
_ANY = "*."


class Seal:
    """Encrypts the values of some resources and leaves the others unchanged.

    A name such as `*.example.com` stands for all resources of the group and of the groups below it. They are encrypted
    when they are written; values that were stored before are still read as they are.
    """

    def __init__(self, resources: Collection[str] = (), key: bytes | None = None) -> None:
        self.resources = frozenset(each for each in resources if not each.startswith(_ANY))
        self._groups = tuple(each[1:] for each in resources if each.startswith(_ANY)) if self.resources else ()
        self.key_id = b""
        if not self.resources:
            return
        if key is None or len(key) != _KEY_BYTES:
            raise StoreError(f"sealing {', '.join(sorted(self.resources))} needs a key of {_KEY_BYTES} bytes")
        self.key_id = hashlib.sha256(b"homeostat seal" + key).digest()[:_ID_BYTES]
        self._key = key

    def close(self, key: Key, revision: int, value: bytes) -> bytes:
        if key.resource not in self.resources and not key.resource.endswith(self._groups):
            return value
        nonce = os.urandom(_NONCE_BYTES)
        return self.key_id + nonce + self._cipher.encrypt(nonce, value, _bound_to(key, revision))

    def open(self, key: Key, revision: int, stored: bytes) -> bytes:
        if key.resource not in self.resources:
            is_plain = stored[:_ID_BYTES] != self.key_id
            if is_plain or not key.resource.endswith(self._groups):
                return stored
        if stored[:_ID_BYTES] != self.key_id:
            raise StoreError(f"{_name(key)} is sealed with a different key")
        nonce, sealed = stored[_ID_BYTES : _ID_BYTES + _NONCE_BYTES], stored[_ID_BYTES + _NONCE_BYTES :]
        try:
            return self._cipher.decrypt(nonce, sealed, _bound_to(key, revision))
        except (_invalid_tag(), ValueError) as error:
            raise StoreError(f"{_name(key)} at revision {revision} was altered on disk") from error

    @cached_property
    def _cipher(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._key)

    def description(self) -> str:
        """The text that a database stores to refuse a different seal: key id and resources."""
        return f"{self.key_id.hex()} {' '.join(sorted(self.resources))}".strip()


def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag

    return InvalidTag


def _bound_to(key: Key, revision: int) -> bytes:
    return "\0".join((*key, str(revision))).encode()


def _name(key: Key) -> str:
    return f'{key.resource} "{key.namespace}/{key.name}"' if key.namespace else f'{key.resource} "{key.name}"'
