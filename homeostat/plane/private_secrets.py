"""Secrets that the faces of a plane keep for themselves, sealed in the plane's database.

They are records of a resource that no API serves: its name cannot be that of a kind. So no role reaches them, and
neither does a wildcard. Replicas share them through the database; backups hold them, sealed with the key in `seal.key`
like all Secrets.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from homeostat.edge.imports import import_in_thread
from homeostat.objects.errors import InternalError, NotFoundError, UnavailableError
from homeostat.server.pki.private_file import read_private
from homeostat.store.base import Delete, Draft, Key, Put, Record, RevisionMismatchError, Store, StoreError
from homeostat.store.seal import CIPHER, Seal

RESOURCE: Final = "private:homeostat"
_HEAD: Final = b'{"apiVersion":"v1","kind":"PrivateSecret","metadata":{"resourceVersion":"'
_UNBOUND: Final = 0
"""The revision that a value is sealed for: its own is not known before the commit."""


class _Stored(msgspec.Struct, frozen=True):
    sealed: str


class StoreSecrets:
    """`key_file` holds the key that seals the database."""

    def __init__(self, store: Store, key_file: Path) -> None:
        self._store, self._key_file = store, key_file

    async def read(self, name: str) -> bytes | None:
        record = self._store.get(_key(name))
        if record is None:
            return None
        await import_in_thread(CIPHER)
        return self._opened(record)

    async def create(self, name: str, value: bytes) -> bytes:
        return await self._put(_key(name), value, 0)

    async def replace(self, name: str, old: bytes, new: bytes) -> bytes:
        await import_in_thread(CIPHER)
        record = self._store.get(_key(name))
        if record is None:
            raise NotFoundError(f'the private secret "{name}" does not exist')
        held = self._opened(record)
        return await self._put(record.key, new, record.revision) if held == old else held

    async def _put(self, key: Key, value: bytes, expect: int) -> bytes:
        await import_in_thread(CIPHER)
        sealed = base64.b64encode(self._seal.close(key, _UNBOUND, value)).decode()
        tail = b'"},' + msgspec.json.encode(_Stored(sealed))[1:]
        try:
            await self._store.write(Put(key, Draft(_HEAD, tail), expect))
        except RevisionMismatchError as error:
            if error.current is None:
                raise UnavailableError("a secret was deleted while it was read; try again") from error
            return self._opened(error.current)
        except StoreError as error:
            raise UnavailableError(f"cannot store a secret: {error}") from error
        return value

    async def delete(self, name: str) -> None:
        key = _key(name)
        record = self._store.get(key)
        if record is None:
            return
        try:
            # Another replica may have deleted it meanwhile.
            with contextlib.suppress(RevisionMismatchError):
                await self._store.write(Delete(key, Draft(_HEAD, b'"}}'), record.revision))
        except StoreError as error:
            raise UnavailableError(f"cannot delete a secret: {error}") from error

    @cached_property
    def _seal(self) -> Seal:
        return Seal({RESOURCE}, read_private(self._key_file))

    def _opened(self, record: Record) -> bytes:
        try:
            sealed = base64.b64decode(msgspec.json.decode(record.value, type=_Stored).sealed, validate=True)
            return self._seal.open(record.key, _UNBOUND, sealed)
        except (msgspec.DecodeError, binascii.Error, StoreError) as error:
            raise InternalError(f'the private secret "{record.key.name}" is unreadable: {error}') from error


def _key(name: str) -> Key:
    return Key(RESOURCE, "", name)
