"""Secrets that a face keeps for itself, such as signing keys and password hashes.

They must not be readable with permissions on the namespaces of tenants: whoever reads the key that signs tokens can
issue tokens for any user. A plane keeps them sealed in its database, where no API serves them
(`plane/private_secrets.py`). A process beside a cluster keeps them as Secrets of its own namespace
(`NamespaceSecrets`).
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from typing import Final, Protocol

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ConflictError, InternalError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SECRET

PREFIX: Final = "homeostat-private-"
TYPE: Final = "homeostat.dev/private"
_VALUE: Final = "value"


class PrivateSecrets(Protocol):
    """Shared by all replicas of a process. Errors are those of the Kubernetes API."""

    async def read(self, name: str) -> bytes | None:
        """None if there is no such secret."""

    async def create(self, name: str, value: bytes) -> bytes:
        """Stores the value unless there is one already, and returns the stored one."""

    async def replace(self, name: str, old: bytes, new: bytes) -> bytes:
        """Stores the new value if the stored one is `old`, and returns the stored one. `NotFoundError` if there is
        none.
        """

    async def delete(self, name: str) -> None:
        """Does nothing if there is no such secret."""


class NamespaceSecrets:
    """Secrets of one namespace: that of the process itself, to which users have no access."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._namespace = client, namespace

    async def read(self, name: str) -> bytes | None:
        try:
            return _value(await self._client.get(self._path(name)))
        except NotFoundError:
            return None

    async def create(self, name: str, value: bytes) -> bytes:
        secret: JsonObject = {
            "apiVersion": SECRET.api_version,
            "kind": SECRET.kind,
            "metadata": {"name": f"{PREFIX}{name}", "namespace": self._namespace},
            "type": TYPE,
            "data": _data(value),
        }
        try:
            return _value(await self._client.create(SECRET.path(self._namespace), secret))
        except AlreadyExistsError:
            return _value(await self._client.get(self._path(name)))

    async def replace(self, name: str, old: bytes, new: bytes) -> bytes:
        secret = await self._client.get(self._path(name))
        if (held := _value(secret)) != old:
            return held
        try:
            return _value(await self._client.update(self._path(name), {**secret, "data": _data(new)}))
        except ConflictError:
            return _value(await self._client.get(self._path(name)))

    async def delete(self, name: str) -> None:
        with contextlib.suppress(NotFoundError):
            await self._client.delete(self._path(name))

    def _path(self, name: str) -> str:
        return SECRET.path(self._namespace, f"{PREFIX}{name}")


def _data(value: bytes) -> JsonObject:
    return {_VALUE: base64.b64encode(value).decode()}


def _value(secret: JsonObject) -> bytes:
    try:
        return base64.b64decode((secret.get("data") or {})[_VALUE], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        name = secret.get("metadata", {}).get("name", "")
        raise InternalError(
            f'the Secret "{name}" has no valid "{_VALUE}"; delete it to have it created again'
        ) from error
