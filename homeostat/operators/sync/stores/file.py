"""The secret store in one encrypted file. It is read and decrypted once, and replaced as a whole.

A change holds a lock and starts from the file as it is then, so that two commands at once lose no secret.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from homeostat.external.files import replace_private_file
from homeostat.operators.sync.engine.errors import NotFoundError, SyncError, ValidationError
from homeostat.operators.sync.repository.files import exclusive_file
from homeostat.operators.sync.stores.envelope import Lock, open_envelope, seal_envelope

LARGEST: Final = 64 << 20
_LOCKED_S: Final = 30.0
"""How long to wait while another command changes the store; deriving its key takes seconds."""


class FileStore:
    def __init__(self, path: Path, lock: Lock) -> None:
        self._path, self._lock = path, lock
        self._secrets: dict[str, str] | None = None
        self._read_at: tuple[int, int] | None = None
        self._reading = asyncio.Lock()

    async def open(self) -> None:
        if not await asyncio.to_thread(self._path.exists):
            await self._save({})
        await self._all()

    async def check(self) -> None:
        await self._all()

    async def get(self, key: str) -> str:
        found = (await self._all()).get(key)
        if found is None:
            raise NotFoundError(f'there is no secret "{key}" in the store')
        return found

    async def put(self, secrets: Mapping[str, str]) -> None:
        async with self._changing() as before:
            await self._save({**before, **secrets})

    async def delete(self, key: str) -> None:
        async with self._changing() as before:
            if key not in before:
                raise NotFoundError(f'there is no secret "{key}" in the store')
            await self._save({name: value for name, value in before.items() if name != key})

    async def keys(self) -> list[str]:
        return sorted(await self._all())

    async def close(self) -> None:
        self._secrets = None

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[dict[str, str]]:
        """The secrets as they are now, until the lock is released."""
        async with exclusive_file(self._path, timeout_s=_LOCKED_S):
            if self._read_at != await asyncio.to_thread(self._version):
                self._secrets = None
            yield await self._all()

    def _version(self) -> tuple[int, int] | None:
        """Another one after each change: a change replaces the file."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    async def _all(self) -> dict[str, str]:
        async with self._reading:
            if self._secrets is None:
                self._secrets = await asyncio.to_thread(self._load)
            return self._secrets

    def _load(self) -> dict[str, str]:
        try:
            self._read_at = self._version()
            data = _read(self._path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ValidationError(f"cannot read the secret store {self._path}: {error.strerror}") from error
        try:
            return open_envelope(data, self._lock)
        except SyncError as error:
            raise type(error)(f"{self._path}: {error}") from error

    async def _save(self, secrets: dict[str, str]) -> None:
        await asyncio.to_thread(self._write, secrets)
        self._secrets = secrets

    def _write(self, secrets: dict[str, str]) -> None:
        replace_private_file(self._path, seal_envelope(secrets, self._lock, os.urandom(28)))
        self._read_at = self._version()


def _read(path: Path) -> bytes:
    """A path may be any of the machine: a device has no end, and a pipe keeps the thread waiting."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValidationError(f"the secret store {path} is not a regular file")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValidationError(f"the secret store is larger than {LARGEST} bytes")
    return data
