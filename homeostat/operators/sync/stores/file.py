"""The secret store in one encrypted file. It is read and decrypted once, and replaced as a whole."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from homeostat.operators.sync.engine.errors import NotFoundError, SyncError, ValidationError
from homeostat.operators.sync.repository.files import replace_file
from homeostat.operators.sync.stores.envelope import Lock, open_envelope, seal_envelope

LARGEST: Final = 64 << 20


class FileStore:
    def __init__(self, path: Path, lock: Lock) -> None:
        self._path, self._lock = path, lock
        self._secrets: dict[str, str] | None = None
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
        await self._save({**await self._all(), **secrets})

    async def delete(self, key: str) -> None:
        secrets = await self._all()
        if key not in secrets:
            raise NotFoundError(f'there is no secret "{key}" in the store')
        await self._save({name: value for name, value in secrets.items() if name != key})

    async def keys(self) -> list[str]:
        return sorted(await self._all())

    async def close(self) -> None:
        self._secrets = None

    async def _all(self) -> dict[str, str]:
        async with self._reading:
            if self._secrets is None:
                self._secrets = await asyncio.to_thread(self._load)
            return self._secrets

    def _load(self) -> dict[str, str]:
        try:
            if self._path.stat().st_size > LARGEST:
                raise ValidationError(f"the secret store is larger than {LARGEST} bytes")
            data = self._path.read_bytes()
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
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._path, seal_envelope(secrets, self._lock, os.urandom(28)), mode=0o600)
