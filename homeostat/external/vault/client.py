"""Secrets in the key-value engine (version 2 or 1) of HashiCorp Vault or OpenBao.

A key is a path, `team/database`, for the field `value`, or names another field: `team/database#password`. `KeyError` if
there is none; a mount that does not exist, or is of the other version, is a `VaultError`; its text holds no secret.
Secrets are cached for half a minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from homeostat.external.vault.session import Session, VaultError, VersionRequiredError, decoded, member_of
from homeostat.external.vault.settings import VaultSettings
from homeostat.objects.json import JsonObject, encode

_KEPT_S: Final = 30.0
_MOST_KEPT: Final = 1000
_MOST_LISTED: Final = 10_000


class Vault:
    """A context manager: while it is open, its session keeps a valid token."""

    def __init__(self, settings: VaultSettings, *, seconds: Callable[[], float] | None = None) -> None:
        self._settings = settings
        self._seconds = seconds or (lambda: asyncio.get_running_loop().time())
        self._session = Session(settings, self._seconds)
        self._kept: dict[str, tuple[float, JsonObject]] = {}

    async def __aenter__(self) -> Vault:
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self._session.__aexit__(*reason)

    async def get_secret(self, key: str) -> str:
        path, _, name = key.rpartition("#") if "#" in key else (key, "", "")
        fields = await self._fields(path.strip("/"), key)
        value = fields.get(name or "value")
        if value is None or value == "":
            raise KeyError(key)
        return value if isinstance(value, str) else encode(value).decode()

    async def check(self) -> None:
        """`VaultError` if the login fails."""
        await self._session.log_in()

    async def write_secret(self, path: str, fields: JsonObject) -> None:
        """Replaces all fields of the secret; engine version 2 keeps the old ones as a version."""
        inner = self._path(path, "data")
        body = {"data": fields} if self._settings.version == 2 else fields
        try:
            await self._session.send("POST", inner, body)
        except VersionRequiredError:
            version = await self._current_version(inner)
            await self._session.send("POST", inner, {**body, "options": {"cas": version}})
        self._kept.pop(path.strip("/"), None)

    async def _current_version(self, inner: str) -> int:
        """The number of the newest version, a deleted one included; 0 if there is none."""
        response = await self._session.send("GET", inner)
        data = decoded(response).get("data") or {}
        return int(data.get("metadata", {}).get("version", 0))

    async def delete_secret(self, path: str) -> None:
        """With engine version 2, deletes the newest version. A secret that does not exist is not an error."""
        await self._session.send("DELETE", self._path(path, "data"))
        self._kept.pop(path.strip("/"), None)

    async def list_secrets(self, path: str = "") -> list[str]:
        """The paths of all secrets below this one, in order."""
        found: list[str] = []
        waiting = [path.strip("/")]
        while waiting:
            folder = waiting.pop()
            for name in await self._listed(folder):
                inner = f"{folder}/{name}".strip("/")
                (waiting if name.endswith("/") else found).append(inner)
            if len(found) + len(waiting) > _MOST_LISTED:
                raise VaultError(f"expected at most {_MOST_LISTED} secrets, and there are more; set a longer prefix")
        return sorted(found)

    async def _listed(self, folder: str) -> list[str]:
        inner = self._path(folder, "metadata", is_folder=True)
        try:
            response = await self._session.send("LIST", inner)
        except VaultError as error:
            # Some proxies in front of a Vault do not pass LIST.
            if error.status not in (400, 405):
                raise
            response = await self._session.send("GET", f"{inner}?list=true")
        if response.status == 404:
            return []
        keys = member_of(response, "data").get("keys")
        return [each for each in keys if isinstance(each, str)] if isinstance(keys, list) else []

    async def _fields(self, path: str, key: str) -> JsonObject:
        if not _is_path(path):
            raise KeyError(key)
        now = self._seconds()
        if (kept := self._kept.get(path)) is not None and kept[0] > now:
            return kept[1]
        fields = await self._read(path)
        if fields is None:
            self._kept.pop(path, None)
            raise KeyError(key)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[path] = (now + _KEPT_S, fields)
        return fields

    async def _read(self, path: str) -> JsonObject | None:
        response = await self._session.send("GET", self._path(path, "data"))
        if response.status == 404:
            return None
        data = member_of(response, "data")
        # A version that was deleted has metadata and no data.
        found = data.get("data") if self._settings.version == 2 else data
        return found if isinstance(found, dict) else None

    def _path(self, path: str, area: str, *, is_folder: bool = False) -> str:
        """The path below the mount; `VaultError` for a path that would leave it."""
        path = path.strip("/")
        if not _is_path(path) and not (is_folder and not path):
            raise VaultError(f'invalid path "{path}"; expected names joined by single slashes, without "." and ".."')
        settings = self._settings
        parts = (settings.mount, area if settings.version == 2 else "", settings.prefix.strip("/"), path)
        return quote("/".join(each for each in parts if each))


def _is_path(path: str) -> bool:
    return bool(path) and not any(each in ("", ".", "..") for each in path.split("/"))
